"""From a model to the artifact that a runtime loads."""
