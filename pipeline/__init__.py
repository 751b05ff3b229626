"""The Spark shell: the engine's own functions over the tables of a whole fleet."""
