"""example-board for EdgeBench; found through the entry points in pyproject.toml."""
