"""Some benchmarks run apps: in tests, what those have in common is made once."""

from tests.thrift import styles_parsed_once

__all__ = ["styles_parsed_once"]
