"""The commands are run as the tests of the command line run them."""

from __future__ import annotations

from tests.tui.cli.conftest import run

__all__ = ["run"]
