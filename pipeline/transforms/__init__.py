"""DataFrame in, DataFrame out: no session, no path, nothing written."""
