"""Demo scripts: their lines read, run, and checked by their own ``expect`` lines."""
