"""Which bundles a leader takes off which broker: one module for each of Pulsar's shedding strategies."""
