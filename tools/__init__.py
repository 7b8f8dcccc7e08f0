"""Programs of this checkout that the library does not import."""
