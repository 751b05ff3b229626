"""The timeline on disk, as lines of JSON."""
