"""The timeline on disk: values as lines of JSON, and back with the place of what is wrong."""
