"""A stand-in in numpy, for tests and demonstrations without any vendor runtime."""
