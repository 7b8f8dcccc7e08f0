"""Evaluators, parsers, meta-evaluation and paper comparison for five papers on
evaluating generated text.
"""

__version__ = "0.1.0"
# what a command ends with on Ctrl-C; here, where nothing has to load for it
STOPPED = "stopped; the same command goes on from there"
