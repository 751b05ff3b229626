"""What the dashboard of a Failover subscription shows: ring, table, bundle tree, notices, explanations."""
