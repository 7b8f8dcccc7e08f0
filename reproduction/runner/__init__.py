"""Runs the catalogue's notebooks: strictly, several at a time, and only those that
something changed for. `trials` runs one over values of its parameters.
"""
