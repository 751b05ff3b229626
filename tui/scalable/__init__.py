"""The screen of a scalable topic: its segments on the ring and in a family tree, and who reads them."""
