"""Bundles of a namespace: which bundle holds a topic, where each split algorithm cuts, and with which result."""
