"""Whole fleets as numbers: the summary of a result folder, its figures, and what differs between two runs."""
