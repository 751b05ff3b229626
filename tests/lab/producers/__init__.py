"""Producers of a partitioned topic step by step: what they opened, and where they sent messages."""
