"""One function for each cause why messages do not arrive, grouped by what they look at."""
