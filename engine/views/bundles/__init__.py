"""What the screen of bundles over time shows: cycle by cycle the tree, its loads and its splits."""
