"""Tests of the screen run many apps: what they have in common is made once."""

from tests.thrift import styles_parsed_once
from tests.virtual_time import virtual_time

__all__ = ["styles_parsed_once", "virtual_time"]
