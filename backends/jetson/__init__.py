"""NVIDIA's TensorRT: a Jetson with any JetPack from 4.6 on, or a discrete GPU."""
