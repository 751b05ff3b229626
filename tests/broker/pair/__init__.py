"""Two real brokers over one ZooKeeper and one bookie: ownership and redirects need two."""
