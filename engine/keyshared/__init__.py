"""Key_Shared subscriptions: which consumer gets a key, why, who inherits it, and what a key waits for."""
