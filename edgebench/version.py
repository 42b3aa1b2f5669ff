"""Which version of EdgeBench this is; the package's metadata and every result hold the same."""

__version__ = "0.3.0"
