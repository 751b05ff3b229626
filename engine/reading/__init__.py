"""What people paste: a copied terminal, a page, a repr, YAML or a fragment becomes the answers that are in it."""
