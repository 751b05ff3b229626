"""Before and after: differences of two states, heirs of who leaves, previews of a change, upgrades."""
