"""What the screen of brokers shows: usage, the next cycles of shedding, who dies and who joins."""
