"""The screen of a subscription for which nothing is computed: what brokers reported of it."""
