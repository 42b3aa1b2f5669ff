"""What EdgeBench is held against: a plain script, scene in memory to 400 scores, by LiteRT.

Usage: plain_litert.py MODEL SCENE.npy THREADS PASSES. Prints the seconds of each pass after the first.
It does what a careful person would write by hand, and imports nothing of EdgeBench.
"""

import sys
import time

import numpy as np

try:
    from ai_edge_litert.interpreter import Interpreter
except ImportError:  # its predecessor, on older Pythons
    from tflite_runtime.interpreter import Interpreter

PATCH = 224


def main(model: str, scene_path: str, threads: int, passes: int) -> None:
    scene = np.load(scene_path)
    interpreter = Interpreter(model_path=model, num_threads=threads)
    interpreter.allocate_tensors()
    model_input = interpreter.get_input_details()[0]
    result = interpreter.get_output_details()[0]
    is_int8 = model_input["dtype"] == np.int8
    rows, columns = scene.shape[0] // PATCH, scene.shape[1] // PATCH
    scores = np.empty((rows * columns, result["shape"][-1]), result["dtype"])
    for number in range(passes + 1):
        start = time.perf_counter()
        for row in range(rows):
            for column in range(columns):
                patch = scene[row * PATCH : (row + 1) * PATCH, column * PATCH : (column + 1) * PATCH]
                if is_int8:
                    ready = (patch ^ 0x80).view(np.int8)
                else:
                    ready = patch.astype(np.float32) / np.float32(127.5) - np.float32(1)
                interpreter.set_tensor(model_input["index"], ready[None])
                interpreter.invoke()
                scores[row * columns + column] = interpreter.get_tensor(result["index"])[0]
        seconds = time.perf_counter() - start
        if number:
            print(seconds)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
