"""A bundle for a DOI: the repository, the public files whose licence is clear, and a
record of both that machines read.
"""
