"""Whatever OpenVINO drives: processors, graphics, neural units, and the Neural Compute Stick 2."""
