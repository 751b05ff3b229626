"""A scalable topic: its segments, who has which, keys to consumers, what waits, and the next automatic step."""
