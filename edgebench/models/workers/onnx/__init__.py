"""The steps of ONNX, in processes of their own."""
