"""A processor, or what else ONNX Runtime has a provider for, on this machine or on a board."""
