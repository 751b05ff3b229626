"""Producers in the state machine: what commands decide, and how events change the state."""
