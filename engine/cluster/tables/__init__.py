"""The topics of a cluster in columns: names, partitions, traffic, edits."""
