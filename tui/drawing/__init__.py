"""Pictures: numbers in, strips out. Neither widgets nor the app nor the engine are known here."""
