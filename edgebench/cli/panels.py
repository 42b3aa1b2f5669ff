"""The options of `edgebench run` in panels: each as wide as its own options need, so that help has room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand, TyperOption

_WHAT = "What is measured"
_POWER = "Power and telemetry"
_MODELS = "Models"
_PICTURES = "Scene and images"
_HOW_LONG = "How much is measured"
_RESULTS = "Results and output"
PANELS: Mapping[str, tuple[str, ...]] = {
    _WHAT: (
        "device", "target", "targets_file", "host", "port", "python", "board", "set_",
    ),
    _POWER: ("meter", "power_mode", "telemetry"),
    _MODELS: (
        "model", "width", "depth", "precision", "batch", "artifact", "labels", "layout", "input_scale",
        "input_mean", "input_shape", "calibration",
    ),
    _PICTURES: ("scene", "patch", "stride", "whole", "images", "inputs"),
    _HOW_LONG: (
        "sessions", "passes", "quick", "target_ci", "decide", "max_time", "period", "sustained",
        "retries", "seed",
    ),
    _RESULTS: (
        "profile", "strict", "output_dir", "name", "resume", "dry_run", "json_", "quiet", "verbose", "help",
    ),
}  # fmt: skip


_PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


class PanelledCommand(TyperCommand):
    """A command whose help shows its options by what they are about, flags without a word for their type."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        order = list(_PANEL_OF)
        self.params.sort(key=lambda param: order.index(str(param.name)) if param.name in _PANEL_OF else -1)
        for param in self.params:
            _arrange(param)

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help, which typer adds to those of the command."""
        option = super().get_help_option(ctx)
        _arrange(option)
        return option


def _arrange(param: Any) -> None:
    if isinstance(param, TyperOption):
        param.rich_help_panel = _PANEL_OF.get(str(param.name))
        if param.is_flag:
            param.metavar = ""
