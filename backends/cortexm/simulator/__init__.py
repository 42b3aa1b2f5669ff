"""A microcontroller of this machine: the firmware's protocol on a pty, inferences by TFLM."""
