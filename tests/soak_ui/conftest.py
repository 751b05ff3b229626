"""Each session and each replay opens an app: what all of them have in common is made once."""

from tests.thrift import styles_parsed_once

__all__ = ["styles_parsed_once"]
