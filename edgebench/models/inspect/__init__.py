"""What a model file holds, read without the runtime that would run it."""
