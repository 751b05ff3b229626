"""Random keys, mouse, pastes and sizes on every screen: ``make soak-ui``."""
