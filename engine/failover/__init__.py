"""Failover and Exclusive subscriptions: which consumer is active, why, and how the role changes hands."""
