"""Engines of a played board: a cheap one with made-up scores, and LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tests.backends.coral.edgetpu_compiler import MARK


class RefusedModel(Exception):
    """A model that the interpreter does not take; its words are the board's."""


@dataclass(frozen=True)
class Quantised:
    """A tensor's type, and what its values stand for."""

    type: str
    scale: float
    zero_point: int


class Engine(Protocol):
    """A model that was built.

    Attributes:
        input_bytes, input, output, classes: of its tensors.
        edgetpu: custom operations in it.
    """

    input_bytes: int
    input: Quantised
    output: Quantised
    classes: int
    edgetpu: int

    def infer(self, tensor: NDArray[Any]) -> NDArray[Any]:
        """Scores [classes] in the output's type, of a tensor [input_bytes] in the input's."""


EngineOf = Callable[[bytes], Engine]


class SumEngine:
    """Five int8 scores that say which bytes came in which order; any model's bytes but those of `REFUSED`."""

    REFUSED = b"no flatbuffer"
    CLASSES = 5

    def __init__(self, content: bytes, input_bytes: int = 12) -> None:
        if content.startswith(self.REFUSED):
            raise RefusedModel("not a flatbuffer")
        self.input_bytes = input_bytes
        self.input = Quantised("int8", 1 / 127.5, -1)
        self.output = Quantised("int8", 1 / 256, -128)
        self.classes = self.CLASSES
        self.edgetpu = 1

    def infer(self, tensor: NDArray[Any]) -> NDArray[Any]:
        ranks = np.arange(1, tensor.size + 1)
        sums = [(tensor.astype(np.int64) * ranks**power).sum() for power in range(self.CLASSES)]
        return (np.array(sums) % 256 - 128).astype(np.int8)


class FloatEngine(SumEngine):
    """The same with float32 scores."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.output = Quantised("float32", 0.0, 0)

    def infer(self, tensor: NDArray[Any]) -> NDArray[Any]:
        return super().infer(tensor).astype(np.float32) / 256


class LiteRtEngine:
    """A .tflite by LiteRT's reference kernels in this process: of one that was compiled by the stand-in for
    Google's compiler, the model within.
    """

    def __init__(self, content: bytes) -> None:
        from ai_edge_litert.interpreter import Interpreter, OpResolverType

        _, mark, rest = content.partition(MARK)
        self.edgetpu = int(bool(mark))
        model = rest[8 : 8 + int.from_bytes(rest[:8], "little")] if mark else content
        try:
            self._interpreter = Interpreter(
                model_content=model,
                num_threads=1,
                experimental_op_resolver_type=OpResolverType.BUILTIN_REF,
            )
            self._interpreter.allocate_tensors()
        except (ValueError, RuntimeError) as error:
            raise RefusedModel(str(error)) from None
        (self._input,) = self._interpreter.get_input_details()
        (self._output,) = self._interpreter.get_output_details()
        self.input_bytes = int(np.prod(self._input["shape"]))
        self.input, self.output = _quantised(self._input), _quantised(self._output)
        self.classes = int(self._output["shape"][-1])

    def infer(self, tensor: NDArray[Any]) -> NDArray[Any]:
        self._interpreter.set_tensor(self._input["index"], tensor.reshape(self._input["shape"]))
        self._interpreter.invoke()
        scores: NDArray[Any] = self._interpreter.get_tensor(self._output["index"])[0].copy()
        return scores


def _quantised(tensor: dict[str, Any]) -> Quantised:
    scale, zero_point = tensor["quantization"]
    return Quantised(np.dtype(tensor["dtype"]).name, float(scale), int(zero_point))
