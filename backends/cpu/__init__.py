"""The processor that the harness runs on, or any Linux board with a Python, by LiteRT."""
