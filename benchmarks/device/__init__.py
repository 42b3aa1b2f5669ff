"""Stand-ins for devices, which run as a board's own programs do."""
