"""Client-side routing of messages to partitions, and what a broker makes of its partitions' statistics."""
