"""A bundle for a DOI: the repository, the public files whose licence is clear, and a
record of both that machines read.

contents: what goes in, what stays outside, and which results hang on that.
crate: the RO-Crate, which describes every file and the run that made each result.
croissant: a Croissant record of each data set.
`__main__`: writes the bundle, `make archive`.
check: holds a bundle against the validators of both formats, `make archive-check`.
"""
