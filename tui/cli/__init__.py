"""The command line: the one place that knows every room, and imports each only when it is asked for."""
