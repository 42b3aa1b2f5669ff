"""The order of an .onnx file's inputs and outputs (device side, Python 3.6 syntax).

The API until 2021.4 sorts them by name. The file is a message of Protocol Buffers: each field is a number
with its kind, then its value, whose length stands before it where it is a message or text.
"""

from typing import Iterator, List, NamedTuple, Tuple

GRAPH = 7  # of the model
INITIALIZER, INPUT, OUTPUT = 5, 11, 12  # of the graph
INITIALIZER_NAME, NAME = 8, 1  # of an initializer; of an input or output
VARINT, EIGHT_BYTES, WITH_LENGTH, FOUR_BYTES = 0, 1, 2, 5

Names = NamedTuple("Names", [("inputs", List[str]), ("outputs", List[str])])


def names_of(path: str) -> Names:
    """The inputs that no stored value fills, and the outputs, in the file's order.

    Raises:
        ValueError: the file is no .onnx.
    """
    with open(path, "rb") as file:
        model = memoryview(file.read())
    names = Names([], [])
    stored = set()
    try:
        for graph in _values(model, GRAPH):
            names.inputs.extend(_texts(graph, INPUT, NAME))
            names.outputs.extend(_texts(graph, OUTPUT, NAME))
            stored.update(_texts(graph, INITIALIZER, INITIALIZER_NAME))
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("the file is no .onnx: {}".format(error)) from error
    return Names([name for name in names.inputs if name not in stored], names.outputs)


def _texts(message: memoryview, field: int, field_of_text: int) -> List[str]:
    return [
        bytes(text).decode("utf-8")
        for value in _values(message, field)
        for text in _values(value, field_of_text)
    ]


def _values(message: memoryview, wanted: int) -> Iterator[memoryview]:
    """The messages or texts of a field; IndexError where the message ends too soon or has other kinds."""
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        kind = key & 7
        if kind == VARINT:
            _, at = _number(message, at)
            continue
        if kind not in (EIGHT_BYTES, WITH_LENGTH, FOUR_BYTES):
            raise IndexError("kind {} of a field".format(kind))
        length = {EIGHT_BYTES: 8, FOUR_BYTES: 4}.get(kind, 0)
        if kind == WITH_LENGTH:
            length, at = _number(message, at)
        if at + length > len(message):
            raise IndexError("a field ends behind the file")
        if key >> 3 == wanted and kind == WITH_LENGTH:
            yield message[at : at + length]
        at += length


def _number(message: memoryview, at: int) -> Tuple[int, int]:
    """Seven bits a byte, the lowest first, and where it ends; the last byte's eighth bit is 0."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
