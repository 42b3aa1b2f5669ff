"""What the documentation site adds to docs/: pages made from the code, its schemas and its folders' READMEs."""
