"""Which broker a bundle without an owner goes to: one module for each of Pulsar's placement strategies."""
