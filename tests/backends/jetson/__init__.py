"""Tests of the Jetson and of TensorRT, held against a stand-in."""
