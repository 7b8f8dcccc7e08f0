"""Programs of this checkout that the library does not import.

Most stand behind a target of the Makefile (`make help` lists them); each file's first
lines say what question it answers, how it is called and what it writes. `mini_judge`
trains the miniature judge and runs the training ablations; `archive` makes the bundle
for a DOI.
"""
