"""The command line: the only package that uses every other one, and imports each only when a command needs it."""
