"""Runs the catalogue's notebooks: strictly, several at a time, and only those that
something changed for.
"""
