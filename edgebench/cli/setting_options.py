"""Options of the command line, made of the declared settings of a run. Imports nothing heavy."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from edgebench.cli.completions import (
    complete_board,
    complete_device,
    complete_meter,
    complete_option,
    complete_port,
    complete_profile,
    complete_target,
)
from edgebench.plan.run_settings import PANELS, run_settings
from edgebench.plan.setting import DeclaredSetting

_COMPLETIONS: Mapping[str, Callable[..., list[str]] | None] = {
    "": None,
    "device": complete_device,
    "target": complete_target,
    "profile": complete_profile,
    "board": complete_board,
    "meter": complete_meter,
    "port": complete_port,
    "option": complete_option,
}


def option(name: str, *, panel: bool = False, help_text: str = "") -> Any:
    """The option of a setting, for `Annotated`; `help_text` where a command means something else by it."""
    setting = run_settings()[name]
    declaration = setting.declaration
    flag = f"{setting.flag}/--no-{setting.flag[2:]}" if declaration.switch_off else setting.flag
    return typer.Option(
        flag,
        *([declaration.short] if declaration.short else []),
        metavar=declaration.metavar or None,
        help=help_text or setting.text,
        autocompletion=_COMPLETIONS[declaration.completion],
        show_default=False,
        rich_help_panel=declaration.panel if panel else None,
    )


def with_settings(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes all settings of a run as options, in their panels, beside options of its own.

    Its last parameter is `**flags`: by name of a setting what was typed, None or [] where nothing was. Its
    own options name their panels, and stand behind the settings of those.
    """
    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [_parameter(setting) for setting in run_settings().values()]
    parameters += [parameter for parameter in own if parameter.kind is not parameter.VAR_KEYWORD]
    parameters.sort(key=_panel_order)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _parameter(setting: DeclaredSetting) -> inspect.Parameter:
    kind: Any = _typed_as(setting) | None
    annotation: Any = Annotated[kind, option(setting.name, panel=True)]
    return inspect.Parameter(
        setting.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
    )


def _typed_as(setting: DeclaredSetting) -> Any:
    """What the command line makes of a flag: text, a path or a switch; the settings' types come after it."""
    if setting.is_switch:
        return bool
    if setting.is_list:
        return list[str]
    return Path if Path in (setting.kind, *get_args(setting.kind)) else str


def _panel_order(parameter: inspect.Parameter) -> int:
    [declared] = [item for item in get_args(parameter.annotation) if hasattr(item, "rich_help_panel")]
    return PANELS.index(declared.rich_help_panel)
