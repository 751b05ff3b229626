"""A namespace over time, and where a bundle would be split."""
