"""Random commands of every kind against oracles: ``python -m tests.soak``; a failure is shrunk and kept as a journal."""
