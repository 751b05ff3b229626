"""The terminal shell: it shows engine values and sends engine commands; it never computes a result of its own."""
