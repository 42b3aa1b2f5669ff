"""Compiles the core of the Dev Board Micro's firmware for this machine, and speaks with it over pipes."""

import base64
import hashlib
import json
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
CORE = Path(__file__).parents[4] / "backends" / "coral" / "micro" / "core"
SOURCES = sorted(CORE.glob("*.cc"))
STRICT = (
    *("-std=c++17", "-fno-exceptions", "-fno-rtti"),
    *("-Wall", "-Wextra", "-Werror", "-Wshadow", f"-I{CORE}"),
)
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
TYPES = ("int8", "uint8", "float32")
IDENTITY_TABLE = bytes(range(256))
PIECE_BYTES = 32768
MEMORY = {"model": 100_000, "scene": 6000, "images": 3000, "records": 1000, "answer": 2048}


def compile_core(output, *sources, flags=SANITIZED, compiler="c++"):
    """The core with other sources, as one file, so that the standard library's headers are read once."""
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    whole = output.with_name(f"{output.name}.cc")
    whole.write_text("".join(f'#include "{source}"\n' for source in (*SOURCES, *sources)))
    command = [compiler, *STRICT, *flags, str(whole), "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return output


def mean_model(
    input_bytes=12,
    input_type="int8",
    output_type="int8",
    classes=4,
    input_scale=0.25,
    input_zero_point=-1,
    output_scale=1 / 256,
    output_zero_point=-128,
    fails_at=256,
):
    """A model file of mean_engine.h."""
    types = TYPES.index(input_type), TYPES.index(output_type)
    scales = input_scale, input_zero_point, output_scale, output_zero_point
    return struct.pack("<4sIIIIfifiI", b"MEAN", input_bytes, *types, classes, *scales, fails_at)


def mean_scores(patches, classes=4, table=IDENTITY_TABLE):
    """What that engine gives for pixels [patches][bytes], as bytes of int8 or uint8."""
    by_channel = len(table) == 768
    rows = []
    for patch in patches:
        values = [table[(index % 3 * 256 if by_channel else 0) + pixel] for index, pixel in enumerate(patch)]
        rows.append(bytes(sum(values[first::classes]) % 256 for first in range(classes)))
    return b"".join(rows)


def b64(data):
    return base64.b64encode(data).decode("ascii")


def sha256(data):
    return hashlib.sha256(data).hexdigest()


class CoreProgram:
    """The core in a process of its own, under sanitizers: bodies in, answers out."""

    def __init__(self, program, start_us=0, **memory):
        sizes = [str(size) for size in (MEMORY | memory).values()]
        self._process = subprocess.Popen(
            [str(program), *sizes, str(start_us)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._input, self._output = self._process.stdin, self._process.stdout
        self._id = 0

    def __enter__(self):
        return self

    def __exit__(self, kind, *exception):
        self._input.close()
        try:
            status = self._process.wait(20)
        finally:
            self._process.kill()
            self._output.close()
        assert kind is not None or status == 0, "the sanitizers found something"

    def answer(self, body):
        """The bytes that a body is answered by."""
        self._input.write(struct.pack("<I", len(body)) + body)
        self._input.flush()
        size = self._output.read(4)
        assert len(size) == 4, "the program ended"
        return self._output.read(struct.unpack("<I", size)[0])

    def respond(self, body):
        """An answer as JSON, which it has to be."""
        return json.loads(self.answer(body))

    def call(self, method, **params):
        """The whole answer to a sound call; its id is checked."""
        self._id += 1
        body = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": [params]}
        answer = self.respond(json.dumps(body).encode())
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", self._id)
        return answer

    def result(self, method, **params):
        answer = self.call(method, **params)
        assert "error" not in answer, answer
        return answer["result"]

    def error(self, method, **params):
        """The error's code and data, None where it has none."""
        error = self.call(method, **params)["error"]
        assert error["message"]
        return error["code"], error.get("data")

    def load(self, block, content, table=IDENTITY_TABLE):
        """Loads all of it; the last answer."""
        tables = {"table": b64(table)} if block == "model" else {}
        named = {"block": block, "sha256": sha256(content)}
        answer = self.call("load", **named, size=len(content), **tables)
        while "error" not in answer and answer["result"]["held"] < len(content):
            offset = answer["result"]["held"]
            answer = self.call(
                "load", **named, offset=offset, data=b64(content[offset : offset + PIECE_BYTES])
            )
        return answer
