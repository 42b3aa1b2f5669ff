"""The content-addressed cache: files by their hash, recipes, and who uses them."""
