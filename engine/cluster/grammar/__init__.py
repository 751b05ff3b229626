"""Command lines: read into commands, and commands written as the lines that mean them."""
