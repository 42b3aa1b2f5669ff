"""Training from the harness: splits, the training process, the weights it leaves."""
