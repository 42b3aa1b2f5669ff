"""EdgeBench's own cost, side by side with plain programs: `make bench`."""
