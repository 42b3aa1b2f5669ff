"""Models built with rknn-toolkit2, for export or for its simulator (device side, Python 3.6 syntax).

As a program it converts in the Python that has the toolkit: a job is a line of JSON on stdin, its answer a
line of JSON on stdout, as edgebench/prepare/workers/processes.py speaks them.
"""

import json
import os
import sys
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def built(path: str, data: str, precision: str, soc: str) -> Any:
    """Build a model, the toolkit's object, whose input takes pixels: uint8 [1, height, width, 3].

    Args:
        path: an fp32 .onnx whose input is [1, 3, height, width].
        data: an .npz with `mean` and `std` [3], in pixels, and `images` that int8 is calibrated with,
            uint8 [n, height, width, 3].
        precision: fp16 or int8.
        soc: the toolkit's name of the processor, such as rk3588.

    Raises:
        RuntimeError: a step reports a failure. Newer toolkits raise errors of their own.
    """
    from rknn.api import RKNN

    with np.load(data) as arrays:
        mean, std, images = (arrays[name] for name in ("mean", "std", "images"))
    model = RKNN(verbose=False)
    normalisation = {"mean_values": [mean.tolist()], "std_values": [std.tolist()]}
    require(model.config(target_platform=soc, **normalisation), "config")
    require(model.load_onnx(model=path), "load_onnx")
    with tempfile.TemporaryDirectory() as folder:
        dataset = _dataset(folder, images) if precision == "int8" else None
        require(model.build(do_quantization=precision == "int8", dataset=dataset), "build")
    return model


def toolkit_version() -> str:
    """Version of the toolkit that is installed."""
    from rknn import api

    folder = os.path.dirname(os.path.dirname(api.__file__))
    with open(os.path.join(folder, "VERSION")) as file:
        return file.read().strip()


def require(code: int, step: str) -> None:
    """RuntimeError if a step of the toolkit or of rknnlite gives another code than 0."""
    if code != 0:
        raise RuntimeError("{} failed with code {}, see the runtime's words in stderr".format(step, code))


def _dataset(folder: str, images: "NDArray[Any]") -> str:
    """Write the list of calibration images that the toolkit reads, and an .npy [1, 3, height, width] each."""
    names = [os.path.join(folder, "{}.npy".format(number)) for number in range(len(images))]
    for name, image in zip(names, images):
        np.save(name, image.transpose(2, 0, 1)[None])
    listing = os.path.join(folder, "images.txt")
    with open(listing, "w") as file:
        file.write("\n".join(names))
    return listing


def main() -> None:
    """Answer jobs until stdin ends. Each has `path`, `data`, `precision`, `soc` and `output`, a new .rknn."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the toolkit prints
    for line in sys.stdin:
        job = json.loads(line)
        model = built(job["path"], job["data"], job["precision"], job["soc"])
        require(model.export_rknn(job["output"]), "export_rknn")
        model.release()
        answers.write(json.dumps({"done": {}}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
