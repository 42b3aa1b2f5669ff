"""How help looks: switches without a word for their type, and of `edgebench run` every option in a panel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.models import CommandFunctionType

from edgebench.files import expand_home


class PlainSwitches:
    """Help without words for types: switches take no value, and arguments have a name and a sentence."""

    def get_params(self, ctx: Any) -> list[Any]:
        """All parameters, with those that typer adds."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if isinstance(param, TyperOption) and param.is_flag:
                param.metavar = ""
            if isinstance(param, TyperArgument):
                param.display_type_rich = lambda ctx: None  # type: ignore[method-assign]
        return params


class PlainCommand(PlainSwitches, TyperCommand):
    """A command with such switches; `~` in its values is the user's home, but for the board's --python."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the values; a shell expands no `~` behind `--option=`."""
        rest = super().parse_args(ctx, args)
        ctx.params |= {name: expand_home(value) for name, value in ctx.params.items() if name != "python"}
        return rest


class PlainGroup(PlainSwitches, TyperGroup):
    """A group with such switches."""


FIRST = (
    "device", "target", "host", "model", "depth", "precision", "labels", "images", "calibration", "profile",
    "meter", "quick", "sessions", "name", "output_dir", "resume", "dry_run", "help", "help_all",
)  # fmt: skip
"""Options that `run --help` shows: those that most people use, and the two of help."""


class PanelledCommand(PlainCommand):
    """A command whose options are in panels; --help shows those of FIRST, --help-all every one."""

    shows_all = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help with the options that are asked for."""
        hidden = [] if self.shows_all else [param for param in self.params if param.name not in FIRST]
        for param in hidden:
            param.hidden = True  # type: ignore[attr-defined]
        try:
            super().format_help(ctx, formatter)
        finally:
            for param in hidden:
                param.hidden = False  # type: ignore[attr-defined]

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help, which typer adds to those of the command."""
        from edgebench.run.settings import OUTPUT

        option = super().get_help_option(ctx)
        if isinstance(option, TyperOption):
            option.rich_help_panel = OUTPUT
        return option


class CommandGroup(typer.Typer):
    """Commands under one name; each of them, and the group, has plain switches."""

    def __init__(self, *, cls: type[TyperGroup] = PlainGroup, **settings: Any) -> None:
        super().__init__(cls=cls, **settings)

    def command(
        self, name: str | None = None, *, cls: type[TyperCommand] | None = PlainCommand, **settings: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """As typer's, with plain switches unless another class is named."""
        return super().command(name, cls=cls, **settings)
