"""A user's own model: what is known of it, its files and its golden patches."""
