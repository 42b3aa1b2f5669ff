"""What stays the same while the code behind it changes; `python -m tests.frozen` renews it."""
