"""What the documentation site adds to docs/: pages of the code, its schemas and its folders' READMEs."""
