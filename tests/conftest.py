"""Hooks that must be known before any test is collected, also to the process that only hands tests out (xdist)."""

from tests.golden.plugin import pytest_addoption, pytest_configure, pytest_terminal_summary

__all__ = ["pytest_addoption", "pytest_configure", "pytest_terminal_summary"]
