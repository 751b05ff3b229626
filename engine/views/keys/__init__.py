"""What the screen of a Key_Shared subscription shows: shares, slots, moves, waiting keys."""
