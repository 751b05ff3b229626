"""Demo scripts and the scenes that come with the package."""
