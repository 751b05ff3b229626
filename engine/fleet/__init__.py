"""The bulk twins of the theories in numpy: a million topics and thousands of consumers at a time.

Every answer here is also given, one at a time, by ``engine.failover``, ``engine.keyshared`` or ``engine.bundles``; they
are the reference, and the tests hold this room to them.
"""
