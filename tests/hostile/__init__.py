"""Input that was made to do harm, and what runs it in a process with limits."""
