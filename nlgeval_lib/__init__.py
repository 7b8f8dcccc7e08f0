"""Evaluators, parsers, meta-evaluation and paper comparison for five papers on
evaluating generated text.
"""

__version__ = "0.1.0"
