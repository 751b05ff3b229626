"""Decoding of what a Pulsar broker prints: bytes of any release in, plain facts out, bad topics set aside."""
