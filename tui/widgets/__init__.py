"""Widgets: one a file. They receive values, post messages, and do not know each other."""
