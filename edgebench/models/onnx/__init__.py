"""ONNX for every backend that takes it: made from Keras, made smaller, checked at each step, kept."""
