"""The state machine of one cluster: state, commands, events, and the timeline that replays them."""
