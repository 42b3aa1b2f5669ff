"""The self-test's report as Markdown: without the names of people and machines."""

from __future__ import annotations

from collections.abc import Mapping

from edgebench.report.environment import flat
from edgebench.vocabulary.values import Json

from .steps import Result

BOARD = ("board", "soc", "cpu", "cores", "memory_bytes", "os", "kernel", "machine", "python", "packages")
SEEN = (
    *("usb_accelerators", "pcie_accelerators", "libraries", "openvino"),
    *("l4t", "gpu", "nvidia_libraries", "power_mode", "temperatures_c", "governor"),
)
MEANT = {
    "import_s": "importing the runtime, s",
    "load_s": "loading the model, s",
    "first_inference_s": "the first inference, s",
    "first_pass_s": "the first pass, s",
    "start_s": "from the process's start to the first result, s",
    "image_s": "a steady pass of 400 patches, s",
    "patch_ms": "a patch in a steady pass, ms",
}


def markdown(result: Result) -> str:
    """Steps, figures, board and runtime; one short session is no measurement, and it says so."""
    lines = [f"# {result.title}", "", f"EdgeBench {result.version}", "", "## Steps", ""]
    lines += ["| step | outcome | what was seen |", "| --- | --- | --- |"]
    lines += [_row(step.name, step.outcome, step.detail) for step in result.steps]
    if result.figures:
        lines += [
            "",
            "## One short session",
            "",
            "A trial, and no measurement: `edgebench run` measures.",
            "",
        ]
        lines += ["| what | figure |", "| --- | --- |"]
        for name, meaning in MEANT.items():
            value = result.figures.get(name)
            lines.append(_row(meaning, "not reached" if value is None else f"{value:.4g}"))
    sections: list[tuple[str, Mapping[str, Json]]] = [
        ("Board", {name: result.facts.get(name) for name in BOARD} if result.facts else {}),
        ("What the board sees", {name: result.facts.get(name) for name in SEEN} if result.facts else {}),
        ("Runtime", result.runtime),
        ("Model", result.artifact),
        ("Options", result.target.options),
    ]
    for title, values in sections:
        if values:
            lines += ["", f"## {title}", "", "| what | value |", "| --- | --- |"]
            lines += [_row(name, text) for name, text in flat(values)]
    if result.missing:
        lines += ["", "## What is missing", "", *(f"- {_cell(line)}" for line in result.missing)]
    return result.private_names.text("\n".join(lines)) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
