"""One module a job; each loads tables, transforms them and writes its result into place."""
