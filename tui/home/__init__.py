"""The first screen of many subscriptions: all of them in a list, the worst first."""
