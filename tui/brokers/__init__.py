"""The screen of brokers: who carries what, what the shedder does next, and what would come of other rules."""
