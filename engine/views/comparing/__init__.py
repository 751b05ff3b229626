"""Before and after: differences of two states, heirs of lost consumers, previews of a change, upgrades."""
