"""Analysis: a result as pandas frames and figures, for Python and notebooks."""
