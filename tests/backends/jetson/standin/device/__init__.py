"""What is copied: Python 3.6 syntax, the standard library, numpy, and ONNX Runtime where it is."""
