"""The leader of the modular load manager: what it keeps, reports as they come in, look-ups, and the shedding cycle."""
