"""From raw answers of brokers to rows, one file at a time, without Spark."""
