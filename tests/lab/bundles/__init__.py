"""Bundle lists, requests to split them, and what came of those."""
