"""What load managers do with bundles over time: averages, automatic splitting, placement, cycles ahead."""
