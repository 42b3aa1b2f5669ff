"""A Coral Dev Board Micro on loopback that answers by the real core, with an engine in Python."""

from __future__ import annotations

import ctypes
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import numpy as np

from tests.backends.coralmicro.firmware.micro_core import HERE, PIECE_BYTES, TYPES, compile_core
from tests.backends.coralmicro.played_board import Exchange, PlayedBoard, _next
from tests.backends.coralmicro.played_engines import EngineOf, RefusedModel, SumEngine
from tests.backends.coralmicro.played_firmware import ROOM

ANSWER_BYTES = 1 << 18
RECORD_BYTES = 1 << 17
SHARED = ("-O2", "-shared", "-fPIC")


class _Facts(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint32) for name in ("input_bytes", "input_type", "output_type", "classes")),
        ("edgetpu", ctypes.c_uint32),
        *((name, ctypes.c_int32) for name in ("input_zero_point", "output_zero_point")),
        *((name, ctypes.c_float) for name in ("input_scale", "output_scale")),
    )


_BYTES = ctypes.POINTER(ctypes.c_uint8)
_LOAD = ctypes.CFUNCTYPE(
    ctypes.c_int, _BYTES, ctypes.c_size_t, ctypes.POINTER(_Facts), ctypes.c_void_p, ctypes.c_size_t
)
_UNLOAD = ctypes.CFUNCTYPE(None)
_PLACE = ctypes.CFUNCTYPE(ctypes.c_void_p)
_INVOKE = ctypes.CFUNCTYPE(ctypes.c_int)


class _Engine(ctypes.Structure):
    _fields_ = (
        *(("load", _LOAD), ("unload", _UNLOAD)),
        *(("input", _PLACE), ("invoke", _INVOKE), ("output", _PLACE)),
    )


def core_library(folder: Path) -> ctypes.CDLL:
    """The core as a shared library, compiled into a folder; skips where no compiler is."""
    library = ctypes.CDLL(str(compile_core(folder / "core.so", HERE / "core_library.cc", flags=SHARED)))
    sizes = [ctypes.c_size_t] * 4
    library.core_create.argtypes = [ctypes.POINTER(_Engine), *sizes, ctypes.c_uint32]
    library.core_create.restype = ctypes.c_void_p
    library.core_handle.argtypes = [
        *(ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t),
        *(ctypes.c_void_p, ctypes.c_size_t),
    ]
    library.core_handle.restype = ctypes.c_size_t
    library.core_destroy.argtypes = [ctypes.c_void_p]
    library.core_destroy.restype = None
    return library


class CoreFirmware:
    """The core: bodies in, answers out.

    Args:
        library: of `core_library`.
        engine_of: builds the interpreter of a model's bytes, as a played board's.
        clock_us: what its clock shows now.
        room: bytes for each block.

    Attributes:
        calls: the methods that were called, in order, each `load` with its block and `begin` or its offset.
        invoke_fails: whether each inference does.
    """

    piece_bytes = PIECE_BYTES

    def __init__(
        self,
        library: ctypes.CDLL,
        engine_of: EngineOf = SumEngine,
        *,
        clock_us: int = 5_000_000,
        room: dict[str, int] | None = None,
    ) -> None:
        self._library, self._engine_of = library, engine_of
        self._room = {**ROOM, **(room or {})}
        self.calls: list[tuple[Any, ...]] = []
        self.invoke_fails = False
        self._answer = ctypes.create_string_buffer(ANSWER_BYTES)
        self._functions = _Engine(
            load=_LOAD(self._load),
            unload=_UNLOAD(self._unload),
            input=_PLACE(lambda: ctypes.addressof(self._input)),
            invoke=_INVOKE(self._invoke),
            output=_PLACE(lambda: ctypes.addressof(self._output)),
        )
        self._core: int | None = None
        self.restart(clock_us)

    def restart(self, clock_us: int = 0) -> None:
        """As behind a boot."""
        self.close()
        sizes = (self._room["model"], self._room["scene"], self._room["images"], RECORD_BYTES)
        self._core = self._library.core_create(self._functions, *sizes, clock_us)

    def close(self) -> None:
        if self._core is not None:
            self._library.core_destroy(self._core)
            self._core = None

    def handle(self, body: bytes) -> bytes:
        """The answer to one body."""
        size = self._library.core_handle(self._core, body, len(body), self._answer, ANSWER_BYTES)
        return self._answer.raw[:size]

    # --- the engine, as the core calls it ---

    def _load(self, model: Any, size: int, facts: Any, reason: int, reason_bytes: int) -> int:
        try:
            engine = self._engine_of(ctypes.string_at(model, size))
        except RefusedModel as refusal:
            words = str(refusal).encode()[: reason_bytes - 1] + b"\0"
            ctypes.memmove(reason, words, len(words))
            return 0
        self._engine = engine
        told = facts.contents
        told.input_bytes, told.classes, told.edgetpu = engine.input_bytes, engine.classes, engine.edgetpu
        told.input_type, told.output_type = TYPES.index(engine.input.type), TYPES.index(engine.output.type)
        told.input_scale, told.input_zero_point = engine.input.scale, engine.input.zero_point
        told.output_scale, told.output_zero_point = engine.output.scale, engine.output.zero_point
        self._input = (ctypes.c_uint8 * engine.input_bytes)()
        self._output = ctypes.create_string_buffer(engine.classes * np.dtype(engine.output.type).itemsize)
        return 1

    def _unload(self) -> None:
        self._input = self._output = None  # type: ignore[assignment]

    def _invoke(self) -> int:
        if self.invoke_fails:
            return 0
        tensor = np.frombuffer(bytes(self._input), np.dtype(self._engine.input.type))
        self._output.raw = self._engine.infer(tensor).tobytes()
        ctypes.memset(self._input, 0x55, len(self._input))  # engines may leave anything there
        return 1


class CoreBoard(PlayedBoard):
    """A played board whose firmware is the core: what befalls a played one befalls it too."""

    def __init__(self, firmware: CoreFirmware) -> None:
        super().__init__(firmware)  # type: ignore[arg-type]
        self._core = firmware

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        with self._lock:
            request = json.loads(body)
            method, (params,) = request["method"], request["params"]
            place = (params.get("block"), params.get("offset", "begin")) if method == "load" else ()
            self._core.calls.append((method, *place))
            if (what := _next(self._before[method])) is not None:
                what()
            answer = self._core.handle(body)
            fault = _next(self._faults[method])
        exchange = Exchange(self, handler, json.loads(answer))
        if fault is None:
            exchange.send(answer)
        else:
            fault(exchange)
