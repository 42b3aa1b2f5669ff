"""Stand-ins for rknn-toolkit2 and rknnlite, with their names and the words that users reported.

They compute by ONNX Runtime, in float. `STANDIN_FAULT` is what librknnrt says when it refuses a model or an
inference, or the toolkit when it refuses to build; `STANDIN_RUNTIME` is the version of librknnrt.
"""

import json
import os
import sys

import numpy as np

VERSION = "2.3.2"
FAULT = os.environ.get("STANDIN_FAULT", "")
RUNTIME = os.environ.get("STANDIN_RUNTIME", VERSION)
COMPILER = b"2.3.2(compiler version: 2.3.2 (e045de294f@2025-04-07T19:48:25))"


def inferred(model, inputs):
    """The outputs of an image, uint8 [1, height, width, 3]."""
    import onnxruntime

    [image] = inputs
    assert (image.dtype, image.ndim, image.shape[3]) == (np.uint8, 4, 3)
    pixels = (image - np.array(model["mean"])) / np.array(model["std"])
    session = onnxruntime.InferenceSession(model["path"], providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: pixels.transpose(0, 3, 1, 2).astype(np.float32)})


class RKNN:
    def __init__(self, verbose=False):
        print(f"I rknn-toolkit2 version: {VERSION}")

    def config(self, mean_values, std_values, target_platform):
        [mean], [std] = mean_values, std_values
        self.model = {"mean": mean, "std": std, "soc": target_platform, "images": 0}
        return 0

    def load_onnx(self, model):
        self.model["path"] = model
        return 0

    def build(self, do_quantization, dataset=None):
        if FAULT:
            raise ValueError(FAULT)
        if do_quantization:
            with open(dataset) as file:
                images = [np.load(name) for name in file.read().splitlines()]
            self.model["images"] = len(images)
            for image in images:
                if image.shape[1] != 3:
                    raise ValueError(f"The input shape {image.shape} is wrong, expect 'nchw'!")
        return 0

    def export_rknn(self, path):
        with open(path, "wb") as file:
            file.write(b"RKNN\0" + json.dumps(self.model).encode() + b"\0" + COMPILER)
        return 0

    def init_runtime(self):
        return 0

    def inference(self, inputs):
        return inferred(self.model, inputs)

    def release(self):
        pass


class RKNNLite:
    NPU_CORE_AUTO, NPU_CORE_0, NPU_CORE_1, NPU_CORE_2 = 0, 1, 2, 4
    NPU_CORE_0_1, NPU_CORE_0_1_2 = 3, 7

    def __init__(self, verbose=False):
        pass

    def load_rknn(self, path):
        with open(path, "rb") as file:
            self.model = json.loads(file.read().split(b"\0")[1])
        return 0

    def init_runtime(self, core_mask):
        stamp = "[11:40:07.311]"
        print(
            f"I RKNN: {stamp} RKNN Runtime Information: librknnrt version: {RUNTIME} (fc044714f@2022-02-22)"
        )
        print(f"core_mask={core_mask}", file=sys.stderr)
        if FAULT and "inference" not in FAULT:
            print(f"E RKNN: {stamp} {FAULT}\nE RKNN: {stamp} rknn_init, load model failed!")
            return -1
        return 0

    def get_sdk_version(self):
        return f"RKNN VERSION:\n  API: {RUNTIME} (429f97ae6b@2025-04-09T09:09:27)\n  DRV: 0.9.8\n"

    def inference(self, inputs):
        return None if FAULT else inferred(self.model, inputs)

    def release(self):
        pass
