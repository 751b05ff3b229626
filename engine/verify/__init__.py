"""Compare the model with what brokers answered."""
