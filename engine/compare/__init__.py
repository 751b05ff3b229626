"""Before and after: verdicts, heirs, differences of two states, and what to do instead."""
