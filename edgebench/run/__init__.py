"""Plan: targets, variants and settings become trials with keys, in interleaved rounds."""
