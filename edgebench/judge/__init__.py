"""Judge: estimates of stored trials, verdicts on them, and comparisons of results."""
