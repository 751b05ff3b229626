"""The main screen: who is active for the partitions of a Failover subscription."""
