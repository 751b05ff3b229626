"""Mutated real input for every reader, in children with limits; what breaks one is shrunk and kept.

Hypothesis draws values from nothing and shrinks what it drew; here what is drawn is small (a few changes) and what has
to become small is the recording they were made to. So mutation and shrinking are a few functions over trees of JSON,
over lines and over bytes.
"""
