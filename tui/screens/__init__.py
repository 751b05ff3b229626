"""Screens: each arranges widgets, hands them slices of the view, and turns their messages into commands."""
