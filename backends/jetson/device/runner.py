"""A model by TensorRT (device side, Python 3.6 syntax): .onnx to an engine on the board, then to scores."""

from typing import Any, Callable, Dict, Optional

from .library import find, require

# At the top, so that the import is timed as import and not as load; a failure is load's to tell.
_LIBRARY, _WHY_NONE = find()


def build_version() -> str:
    """TensorRT and the GPU: an engine is of one version and one GPU."""
    return "TensorRT {}".format(require(_LIBRARY, _WHY_NONE).version)


def build(
    source: str,
    calibration: Optional[str],
    cache_dir: str,
    options: Dict[str, Any],
    progress: Callable[..., None],
) -> str:
    """Build an engine of the .onnx in `source` or of one of its companions; the path of its file."""
    require(_LIBRARY, _WHY_NONE)
    raise NotImplementedError("engines are not built yet")


def load(path: str, options: Dict[str, Any]) -> Any:
    """Load the engine in a file that `build` wrote."""
    require(_LIBRARY, _WHY_NONE)
    raise NotImplementedError("engines are not loaded yet")
