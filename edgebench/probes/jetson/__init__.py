"""The meters of a Jetson: `tegrastats` and `ina3221`, each a probe, and what they share in `rails`."""
