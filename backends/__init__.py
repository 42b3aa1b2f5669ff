"""The device backends, one folder a family, found by the entry-point group `edgebench.backends`."""
