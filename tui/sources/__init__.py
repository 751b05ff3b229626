"""Where a session's state comes from, and where its steps are kept."""
