"""Tests of the screen run many apps: what they have in common is made once."""

from tests.settling import pauses_until_idle
from tests.thrift import styles_parsed_once

__all__ = ["pauses_until_idle", "styles_parsed_once"]
