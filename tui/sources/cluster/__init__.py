"""A running cluster, read over its admin API and never changed: who asks, how much at once, what came back."""
