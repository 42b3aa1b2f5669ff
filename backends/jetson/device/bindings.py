"""An engine's inputs and outputs, and how it is run: by bindings or by tensors' names (Python 3.6 syntax).

TensorRT numbers an engine's inputs and outputs until 8.6 and names them since 8.5: ICudaEngine and
IExecutionContext of each release, docs.nvidia.com/deeplearning/tensorrt/archives.
"""

import functools
from typing import Any, Callable, List, NamedTuple, Sequence, Tuple

BY_NAMES, BY_BINDINGS = "execute_async_v3", "execute_async_v2"

# The members of trt.DataType, of which each release has some, as numpy has them.
DTYPES = {
    "FLOAT": "float32",
    "HALF": "float16",
    "INT8": "int8",
    "UINT8": "uint8",
    "INT32": "int32",
    "INT64": "int64",
    "BOOL": "bool",
}

Tensor = NamedTuple("Tensor", [("name", str), ("shape", Tuple[int, ...]), ("dtype", str), ("is_input", bool)])


def api_of(engine: Any) -> str:
    """What runs it."""
    return BY_NAMES if hasattr(engine, "num_io_tensors") else BY_BINDINGS


def tensors_of(trt: Any, engine: Any) -> List[Tensor]:
    """The engine's inputs and outputs, in its order.

    Raises:
        ValueError: one has an open shape, or a type that numpy does not have.
    """
    if api_of(engine) == BY_NAMES:
        names = [engine.get_tensor_name(place) for place in range(engine.num_io_tensors)]
        return [
            _tensor(
                trt,
                name,
                engine.get_tensor_shape(name),
                engine.get_tensor_dtype(name),
                engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT,
            )
            for name in names
        ]
    return [
        _tensor(
            trt,
            engine.get_binding_name(place),
            engine.get_binding_shape(place),
            engine.get_binding_dtype(place),
            bool(engine.binding_is_input(place)),
        )
        for place in range(engine.num_bindings)
    ]


def execution(
    engine: Any, context: Any, tensors: Sequence[Tensor], addresses: Sequence[int], stream: int, shared: bool
) -> Callable[[], bool]:
    """A function that queues an inference on a stream; it gives False where TensorRT refuses.

    Args:
        engine: with these inputs and outputs.
        context: of the engine.
        tensors: in the engine's order.
        addresses: where each lies in the device's memory.
        stream: its handle.
        shared: whether the context runs with other addresses in between.
    """
    if api_of(engine) == BY_BINDINGS:
        return functools.partial(context.execute_async_v2, list(addresses), stream)
    places = [(tensor.name, address) for tensor, address in zip(tensors, addresses)]
    set_address, execute = context.set_tensor_address, context.execute_async_v3
    for name, address in places:
        set_address(name, address)
    if not shared:
        return functools.partial(execute, stream)

    def execute_there() -> bool:
        for name, address in places:
            set_address(name, address)
        done: bool = execute(stream)
        return done

    return execute_there


def _tensor(trt: Any, name: str, shape: Any, dtype: Any, is_input: bool) -> Tensor:
    sides = tuple(int(side) for side in shape)
    kind = "input" if is_input else "output"
    if any(side < 1 for side in sides):
        raise ValueError("the {} {} has the shape {}: a fixed one is needed".format(kind, name, sides))
    for member, numpy_name in DTYPES.items():
        if hasattr(trt.DataType, member) and dtype == getattr(trt.DataType, member):
            return Tensor(name, sides, numpy_name, is_input)
    raise ValueError("the {} {} is {}, which numpy does not have".format(kind, name, dtype))
