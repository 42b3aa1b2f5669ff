"""The help of `edgebench run`: flags without a word for their type, and --help in a panel of its settings."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperOption

from edgebench.plan.run_settings import OUTPUT


class PanelledCommand(TyperCommand):
    """A command whose options all stand in panels; switches have no word for their type."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for param in self.params:
            if isinstance(param, TyperOption) and param.is_flag:
                param.metavar = ""

    def get_help_option(self, ctx: Any) -> Any:
        """The option --help, which typer adds to those of the command."""
        option = super().get_help_option(ctx)
        if isinstance(option, TyperOption):
            option.rich_help_panel = OUTPUT
            option.metavar = ""
        return option
