"""The command line: one module a command; it parses, calls and prints."""
