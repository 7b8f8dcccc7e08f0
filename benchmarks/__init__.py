"""What is timed side by side: `make bench`."""
