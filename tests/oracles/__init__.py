"""What Pulsar does, written a second time: plain, slow, and without a line of the engine's (a test checks that).

An oracle takes the hash as a parameter, so that a soak can narrow it. Commands come as the engine's values, and an
oracle reads their fields only.
"""
