"""Engine values as text on stdout: values in, lines out, nothing computed and nothing written."""
