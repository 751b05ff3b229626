"""The rules of scalable topics (``topic://``, Pulsar 5): segments, their buckets, and who consumes them."""
