"""What `doctor` says of the packages that make .onnx files, on this machine."""

from __future__ import annotations

from edgebench.installed import version_of
from edgebench.vocabulary.finding import Finding

PACKAGES = ("onnx", "tf2onnx", "tensorflow")


def packages_finding() -> Finding:
    """Whether they are installed, and what cannot be prepared without."""
    absent = [name for name in PACKAGES if version_of(name) is None]
    if not absent:
        return Finding("ok", "preparing", ", ".join(f"{name} {version_of(name)}" for name in PACKAGES))
    # A key holds the versions of what prepares: without them no cached artifact is found, either.
    models = "no model" if "onnx" in absent else "of models only .onnx files"
    message = (
        f"{', '.join(absent)} not installed: {models} can be prepared, or found among the artifacts "
        "that were cached with it"
    )
    return Finding("warning", "preparing", message, "pip install 'edgebench[prepare,onnx]'")
