"""The screen of brokers: what each uses, what the next cycle unloads, and what other shedders would do."""
