"""``make mutants``: small changes of the engine's rules, one at a time, and whether a test of the room fails for each.

mutmut's operators, and a few of our own, make the changes (``operators.py``, ``sites.py``). mutmut's own runner and
cosmic-ray's need 1 to 4 seconds for a mutant, mostly to start and collect; here the tests of a room are collected once
and each mutant is a forked process in which one function has other code (``trying.py``), or, where the change takes
effect on import, a process that imports the changed module.
"""
