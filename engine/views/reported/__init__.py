"""What brokers reported, as it is shown beside what the rules compute."""
