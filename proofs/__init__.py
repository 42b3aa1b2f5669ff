"""Claims of EdgeBench's statistics, checked against simulated truth; `python -m proofs`."""
