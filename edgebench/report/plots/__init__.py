"""The figures of results: one function a figure, in the module of its name.

Each takes what a report summed up, and `ax`, where to draw (see `plots.panels.Place`), and returns its axes:
an `Axes`, or a list with one a panel. Without `ax` a figure of pyplot's is made, which a notebook shows once.
"""
