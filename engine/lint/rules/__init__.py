"""The rules by what they judge, each a function and its declaration; bug patterns: ``tests/known_pulsar_bugs.md``."""
