"""Projections of the state for shells: numbers and names, never colours."""
