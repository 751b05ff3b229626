"""Automatic splits of bundles over time: what both load managers decide, cycle by cycle, and what goes round."""
