"""What the screen of producers shows: who sends to which partition, and what it costs."""
