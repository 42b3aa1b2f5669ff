"""Tools that make the shipped files again: draws, scene and .tflite files."""
