"""What runs in a process of its own: converters, runtimes, training."""
