"""What is wrong in what brokers reported, and why: named causes with numbers, culprits, settings and fixes."""
