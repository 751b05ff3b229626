"""A planned state and its goals: read from TOML, judged before anybody makes it."""
