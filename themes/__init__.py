"""Stylesheets and palettes; no logic."""
