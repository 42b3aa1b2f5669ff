"""Power and energy of trials: rails, the limits that meters may decide, and traces over time."""
