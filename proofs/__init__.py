"""What EdgeBench's statistics claim, held against simulated truth; `python -m proofs`."""
