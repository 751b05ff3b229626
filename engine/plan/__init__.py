"""A planned state and its goals: read from TOML, and checked before it is built."""
