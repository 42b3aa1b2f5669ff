"""A microcontroller of this machine: the firmware's protocol on a pty or a socket, inferences by TFLM."""
