"""The lists of a whole fleet."""
