"""What hostile or broken devices, files and surroundings do, and what happens then (docs/attacks.md)."""
