"""A bundle for a DOI: the repository, the public files whose licence is clear, and a
record of both that machines read.

contents: what goes in, what stays outside, and which results hang on that.
crate: the RO-Crate, which describes every file and the run that made each result.
`__main__`: writes the bundle, `make archive`.
"""
