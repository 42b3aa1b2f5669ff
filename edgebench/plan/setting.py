"""A setting of a run, declared once: its type, words and panel, from which flag, key and variable come.

Imports nothing heavy: the command line's help is made of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

Panel = Literal[
    "What is measured", "On what device", "For how long", "Pictures and model", "Results and output"
]
Completion = Literal["", "device", "target", "profile", "board", "meter", "port", "option"]


@dataclass(frozen=True)
class Setting:
    """What a field of the run's settings says of itself beside its type and default.

    Attributes:
        panel: of the help in which it stands.
        help: one sentence or two, without the default.
        metavar: what stands for its value; empty for a switch.
        default_text: the default in words; empty where none is worth a word.
        short: its flag of one letter, such as `-d`.
        switch_off: whether a switch has a `--no-` form.
        completion: what the shell completes it with.
        read: turns what a source has (text, or a file's value) into a value of the type; ValueError for what
            cannot be one.
    """

    panel: Panel
    help: str
    metavar: str = ""
    default_text: str = ""
    short: str = ""
    switch_off: bool = False
    completion: Completion = ""
    read: Callable[[Any], Any] | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """The schema of the field's type, after `read`; pydantic asks for it where settings are validated."""
        schema = handler(source)
        if self.read is None:
            return schema
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(self.read, schema)


class Bounds:
    """What a number or a text has to keep to, for `Annotated`: constraints of `pydantic.Field` by name.

    The names alone: to import what pydantic makes of them would be a tenth of the command line's start.
    """

    def __init__(self, **constraints: float) -> None:
        self._constraints: dict[str, Any] = constraints

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """The schema of the type with these constraints."""
        from pydantic import Field

        return handler(Annotated[source, Field(**self._constraints)])


@dataclass(frozen=True)
class DeclaredSetting:
    """A setting with its field's name, type and default."""

    name: str
    kind: Any
    default: Any
    declaration: Setting

    @property
    def flag(self) -> str:
        """On the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def environment(self) -> str:
        """The environment variable; a list has commas."""
        return environment_name(self.name)

    @property
    def is_switch(self) -> bool:
        """Whether it is on or off."""
        return self.kind is bool

    @property
    def is_list(self) -> bool:
        """Whether a flag may come several times, a variable has commas, and a file a list."""
        return get_origin(self.kind) is tuple and get_args(self.kind)[-1] is Ellipsis

    @property
    def text(self) -> str:
        """The help, with the default."""
        repeatable = " Repeatable." if self.is_list and "Repeatable" not in self.declaration.help else ""
        words = f"{self.declaration.help}{repeatable}"
        return f"{words} Default: {self.declaration.default_text}" if self.declaration.default_text else words


def environment_name(name: str) -> str:
    """The environment variable of a setting."""
    return f"EDGEBENCH_{name.upper()}"


def declared_settings(declaration: type) -> Mapping[str, DeclaredSetting]:
    """The settings that a dataclass declares, by name, in its order."""
    hints = get_type_hints(declaration, include_extras=True)
    settings = {}
    for field in dataclasses.fields(declaration):
        kind, *metadata = get_args(hints[field.name])
        [setting] = [item for item in metadata if isinstance(item, Setting)]
        settings[field.name] = DeclaredSetting(field.name, kind, field.default, setting)
    return settings
