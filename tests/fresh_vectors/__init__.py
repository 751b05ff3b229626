"""Fresh vectors: cases nobody has seen, answered by Pulsar's own classes in a Java process and by the engine.

The kept vectors (``tests/golden``) are a fixed set, which code can fit by chance. Here their inputs are the material
for new ones, without end and by seed, and for every release whose classes fit.
"""
