"""The rules, one a file; each exports ``RULE``."""
