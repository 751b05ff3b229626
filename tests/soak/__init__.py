"""Random commands of every kind against oracles (``make soak``); a failure is shrunk and kept as a journal."""
