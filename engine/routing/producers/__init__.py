"""Partitioned producers of one topic: their settings, the topic they connect to, steps, costs and statistics."""
