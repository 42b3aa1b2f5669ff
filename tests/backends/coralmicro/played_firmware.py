"""The protocol of EdgeBench's firmware for the Coral Dev Board Micro, as a state without a network."""

from __future__ import annotations

import base64
import hashlib
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.backends.coralmicro.played_engines import Engine, EngineOf, RefusedModel, SumEngine

TURN = 1 << 32
BLOCKS = ("model", "scene", "images")
ROOM = {"model": 4 << 20, "scene": 24 << 20, "images": 4 << 20}


class Refusal(Exception):
    """An error that the firmware answers with."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Held:
    """A block that has begun."""

    def __init__(self, sha256: str, size: int) -> None:
        self.sha256, self.size = sha256, size
        self.data = bytearray()

    @property
    def is_whole(self) -> bool:
        return len(self.data) == self.size


class PlayedFirmware:
    """What the board does with a call.

    Args:
        engine_of: builds the interpreter of a model's bytes.
        times: what is stamped.
        clock_us: what its clock shows now.
        clock_speed: how much faster than the host's it runs.
        piece_bytes: most of one piece.
        room: bytes for each block.
        least_us: what preprocessing, and Invoke, take at least, each.

    Attributes:
        calls: the methods that were called, in order, each `load` with its block and `begin` or its offset.
        flips: how many pieces to come have a byte flipped on their way.
    """

    def __init__(
        self,
        engine_of: EngineOf = SumEngine,
        *,
        times: str = "pass",
        clock_us: int = 5_000_000,
        clock_speed: float = 1.0,
        piece_bytes: int = 1024,
        room: dict[str, int] | None = None,
        least_us: int = 20,
    ) -> None:
        self.engine_of = engine_of
        self.times = times
        self.piece_bytes = piece_bytes
        self.room = {**ROOM, **(room or {})}
        self.least_us = least_us
        self.clock_speed = clock_speed
        self.flips = 0
        self.invoke_fails = False
        self.calls: list[tuple[Any, ...]] = []
        self.restart(clock_us)

    def restart(self, clock_us: int = 0) -> None:
        """As behind a boot."""
        self._zero_s = time.perf_counter() - clock_us / 1e6 / self.clock_speed
        self.blocks: dict[str, Held] = {}
        self.engine: Engine | None = None
        self.table: NDArray[Any] = np.zeros(256, np.uint8)

    def now_us(self) -> int:
        return int((time.perf_counter() - self._zero_s) * 1e6 * self.clock_speed) % TURN

    def call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a method; Refusal."""
        if method not in ("describe", "load", "run", "predict"):
            raise Refusal(-32601, "method not found")
        place = (params.get("block"), params.get("offset", "begin")) if method == "load" else ()
        self.calls.append((method, *place))
        result: dict[str, Any] = getattr(self, method)(params)
        return result

    # --- the methods ---

    def describe(self, _: dict[str, Any]) -> dict[str, Any]:
        whole = {block: held.sha256 for block, held in self.blocks.items() if held.is_whole}
        return {
            "firmware": "edgebench-coral-micro",
            "version": "1.0",
            "protocol": 1,
            "board": "Coral Dev Board Micro",
            "cpu": "NXP i.MX RT1176 Cortex-M7 at 800 MHz",
            "runtime": "tflite-micro",
            "runtime_version": "",
            "tpu": "Edge TPU at 250 MHz",
            "times": self.times,
            "clock_bits": 32,
            "us": self.now_us(),
            "piece_bytes": self.piece_bytes,
            "model_bytes": self.room["model"],
            "arena_bytes": 1 << 20,
            "scene_bytes": self.room["scene"],
            "images_bytes": self.room["images"],
            "model": self._model(whole.get("model")),
            "scene": whole.get("scene"),
            "images": whole.get("images"),
            "temperature_c": 41.5,
        }

    def _model(self, sha256: str | None) -> dict[str, Any] | None:
        engine = self.engine
        if engine is None or sha256 is None:
            return None
        return {
            "sha256": sha256,
            "input_bytes": engine.input_bytes,
            "input_type": engine.input.type,
            "input_scale": engine.input.scale,
            "input_zero_point": engine.input.zero_point,
            "output_type": engine.output.type,
            "output_scale": engine.output.scale,
            "output_zero_point": engine.output.zero_point,
            "classes": engine.classes,
            "arena_used": 1000,
            "edgetpu": engine.edgetpu,
        }

    def load(self, params: dict[str, Any]) -> dict[str, Any]:
        block, sha256 = params.get("block"), params.get("sha256")
        if block not in BLOCKS:
            raise Refusal(-32602, "invalid param", {"param": "block"})
        if "data" not in params:
            return self._begin(block, str(sha256), params)
        held = self.blocks.get(block)
        if held is None or held.sha256 != sha256:
            raise Refusal(-32602, "no such load has begun", {"param": "sha256"})
        offset, piece = params["offset"], bytearray(base64.b64decode(params["data"], validate=True))
        if offset + len(piece) <= len(held.data):
            return {"held": len(held.data)}
        if offset != len(held.data) or len(piece) > self.piece_bytes or offset + len(piece) > held.size:
            raise Refusal(-32602, "invalid param", {"param": "offset"})
        if self.flips:
            self.flips -= 1
            piece[0] ^= 1
        held.data += piece
        if held.is_whole:
            self._finish(block, held)
        return {"held": len(held.data)}

    def _begin(self, block: str, sha256: str, params: dict[str, Any]) -> dict[str, Any]:
        if params["size"] > self.room[block]:
            raise Refusal(-32002, "too large", {"fits": self.room[block]})
        if block == "model":
            self.table = np.frombuffer(base64.b64decode(params["table"], validate=True), np.uint8)
        held = self.blocks.get(block)
        if held is None or held.sha256 != sha256:
            self.blocks[block] = held = Held(sha256, params["size"])
            self.engine = None if block == "model" else self.engine
        return {"held": len(held.data)}

    def _finish(self, block: str, held: Held) -> None:
        if hashlib.sha256(held.data).hexdigest() != held.sha256:
            del self.blocks[block]
            raise Refusal(-32003, "hash differs")
        if block == "model":
            try:
                self.engine = self.engine_of(bytes(held.data))
            except RefusedModel as refusal:
                del self.blocks[block]
                raise Refusal(-32004, str(refusal)) from None

    def run(self, params: dict[str, Any]) -> dict[str, Any]:
        engine, pixels = self._resident("scene", params)
        stamps: list[int] = []
        scores: list[bytes] = []
        start_us = self.now_us()
        for patch in pixels:
            if self.times == "pass":
                stamps.append(self.now_us())
            tensor = self._tensor(engine, patch)
            self._last_at_least(self.least_us)
            stamps.append(self.now_us())
            scores.append(self._infer(engine, tensor))
            self._last_at_least(self.least_us)
            stamps.append(self.now_us())
        end_us = self.now_us()
        return {
            "n": params["n"],
            "start_us": start_us,
            "end_us": end_us,
            "stamps": base64.b64encode(np.array(stamps, "<u4").tobytes()).decode(),
            "scores": base64.b64encode(b"".join(scores)).decode(),
        }

    def predict(self, params: dict[str, Any]) -> dict[str, Any]:
        engine, pixels = self._resident("images", params)
        scores = b"".join(self._infer(engine, self._tensor(engine, patch)) for patch in pixels)
        return {"n": params["n"], "scores": base64.b64encode(scores).decode()}

    def _resident(self, block: str, params: dict[str, Any]) -> tuple[Engine, NDArray[np.uint8]]:
        """The engine, and the first n patches uint8 [n, input_bytes]."""
        held = self.blocks.get(block)
        if self.engine is None or held is None or not held.is_whole:
            raise Refusal(-32001, f"no {'model' if self.engine is None else block} is loaded")
        patches = np.frombuffer(bytes(held.data), np.uint8).reshape(-1, self.engine.input_bytes)
        if params["n"] > len(patches):
            raise Refusal(-32002, "more patches than are loaded", len(patches))
        return self.engine, patches[: params["n"]]

    def _tensor(self, engine: Engine, patch: NDArray[np.uint8]) -> NDArray[Any]:
        """The patch by the table, or by each channel's."""
        if len(self.table) == 256:
            values = self.table[patch]
        else:
            values = self.table.reshape(3, 256)[np.arange(len(patch)) % 3, patch]
        return values.view(engine.input.type)

    def _infer(self, engine: Engine, tensor: NDArray[Any]) -> bytes:
        if self.invoke_fails:
            raise Refusal(-32005, "Invoke failed")
        return engine.infer(tensor).tobytes()

    def _last_at_least(self, us: int) -> None:
        end_s = time.perf_counter() + us / 1e6
        while time.perf_counter() < end_s:
            pass
