"""Clusters that split bundles by themselves: series, broker logs, and the decisions of both load managers."""
