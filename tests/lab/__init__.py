"""The laboratory: the model compared with recorded runs of real brokers, step by step.

``pytest tests/lab --recordings-dir DIR`` compares every folder below DIR that has a ``scenario.json``; without the
option the committed recordings. ``folder`` reads a folder into memory, ``scenario`` its steps, ``compare`` goes through
them; the rooms below hold what one kind of recording is compared by. README.md describes the format.
"""
