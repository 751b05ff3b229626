"""The rules, one a file; each exports ``RULE``. Bug patterns are described in ``tests/known_pulsar_bugs.md``."""
