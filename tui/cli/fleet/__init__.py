"""``ringside fleet``: the jobs, their result folders, and what is printed of them."""
