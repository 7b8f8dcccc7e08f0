"""Commands of `nlgeval` that need the repository."""
