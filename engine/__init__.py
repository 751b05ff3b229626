"""The model of Apache Pulsar: deterministic values in, values out; no clock, no network, no screen."""

__version__ = "0.1.0"
