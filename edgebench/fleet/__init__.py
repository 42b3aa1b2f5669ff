"""Fleets: machines on several hosts that offer their targets and measure for runs, by Dask."""
