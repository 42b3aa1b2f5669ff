"""Statistics: pure functions on figures that were measured."""
