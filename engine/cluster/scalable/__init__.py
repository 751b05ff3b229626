"""Scalable topics in the simulation: segments, subscriptions and messages, moved by commands and by time."""
