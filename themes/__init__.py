"""Stylesheets and palettes; no logic."""

from themes.paths import stylesheet, stylesheets

__all__ = ["stylesheet", "stylesheets"]
