"""Fresh vectors: cases nobody has seen, answered by Pulsar's own classes in a Java process and by the engine.

The kept vectors (``tests/golden``) are a fixed set, which code can fit by chance. Here new ones are
drawn, or made of those that are kept, without end and by seed, and for every release whose classes fit.
"""
