"""What only a running cluster has: what-ifs on its picture, and how they would be carried out there."""
