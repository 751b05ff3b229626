"""The next cycles of shedding from load reports, brokers that die or join, and every broker for one bundle."""
