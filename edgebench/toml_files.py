"""The one reader of TOML files, of profiles, targets, settings and scenarios: bounded, errors in words."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgebench.errors import UsageError
from edgebench.regular_files import not_utf8, read_regular, reason
from edgebench.suggest import short

MAX_BYTES = 256 * 1024
"""Far above the largest file that is written by hand; the parser's time grows with its square."""

MAX_DEPTH = 32
"""Tables and lists within each other, and the parts of a dotted key; no document of EdgeBench has ten."""

# The time of Python's parser grows with the square of a key's parts, so that a long key is found before it is
# parsed. Comments and strings are passed over as wholes, as what stands in them is no key; one that is not
# ended goes as far as it can, so that no character is looked at many times.
_COMMENT = r"#[^\n]*+"
_TEXT = r""""{3}(?:[^"\\]|\\(?s:.)?|"(?!""))*+(?:"{3,5}+|\Z)"""
_LITERAL_TEXT = r"""'{3}(?:[^']|'(?!''))*+(?:'{3,5}+|\Z)"""
_WORD = r"""(?:[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\[^\n]?)*+(?:"|$)|'[^'\n]*+(?:'|$))"""
_TOKEN = re.compile(
    rf"{_COMMENT}|{_TEXT}|{_LITERAL_TEXT}"
    rf"|(?P<long_key>{_WORD}(?:[ \t]*+\.[ \t]*+{_WORD}){{{MAX_DEPTH},}}+)|{_WORD}",
    re.MULTILINE,
)
_LONG_NUMBER = re.compile(r"(?<![\w.])[0-9](?:_?[0-9]){999,}+")


@dataclass(frozen=True)
class TomlFile:
    """A TOML file that was read.

    Attributes:
        tables: what it says; whole numbers are within 64 bits.
        text: as it stands, for the lines of later errors.
        data: its bytes, for its hash.
    """

    tables: dict[str, Any]
    text: str
    data: bytes


def read_toml(path: Path, what: str = "", *, fix: str) -> TomlFile:
    """A TOML file; UsageError, with its line where one is at fault, for what is none.

    Args:
        path: a regular file of at most `MAX_BYTES`.
        what: the kind of file for messages, such as "profile".
        fix: what to do where it cannot be read; what stands in it is to be mended there.
    """
    where = f"{what} {path}".strip()
    try:
        data = read_regular(path, MAX_BYTES)
    except OSError as error:
        raise UsageError(f"{where} cannot be read", why=reason(error), fix=fix) from error
    return parse_toml(data, where)


def parse_toml(data: bytes, where: str) -> TomlFile:
    """The TOML document in these bytes; `where` names it in messages. UsageError as `read_toml`.

    A mark of byte order at its start is passed over.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_toml(where, not_utf8(error), "save it as UTF-8") from error
    if key := next((token for token in _TOKEN.finditer(text) if token["long_key"]), None):
        raise _not_toml(where, f"a key of more than {MAX_DEPTH} parts ({_at(text, key)})")
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:  # which names line and column
        raise _not_toml(where, str(error)[:300]) from error
    except ValueError as error:  # Python converts numbers of some thousand digits alone
        number = _LONG_NUMBER.search(text)
        place = f" ({_at(text, number)})" if number else ""
        raise _not_toml(where, f"a number of thousands of digits{place}") from error
    except RecursionError as error:
        raise _too_deep(where) from error
    _require_bounded(tables, where)
    return TomlFile(tables, text, data)


def _require_bounded(tables: dict[str, Any], where: str) -> None:
    """UsageError for numbers beyond TOML's 64 bits, and for what lies too deep to be printed or checked.

    Without recursion: dotted keys nest without the parser's noticing.
    """
    waiting: list[tuple[str, Any, int]] = [("", tables, 0)]
    while waiting:
        key, value, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise _too_deep(where)
        if isinstance(value, dict):
            waiting += [(name, inner, depth + 1) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [(key, inner, depth + 1) for inner in value]
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise _not_toml(
                where, f"the number at {short(key)} has more than 64 bits", "write a smaller number"
            )


def _not_toml(where: str, why: str, fix: str = "mend that line") -> UsageError:
    return UsageError(f"{where} is not TOML", why=why, fix=fix)


def _too_deep(where: str) -> UsageError:
    why = f"it is nested too deeply: at most {MAX_DEPTH} levels are read"
    return _not_toml(where, why, "write it with fewer levels")


def _at(text: str, token: re.Match[str]) -> str:
    return f"at line {text.count(chr(10), 0, token.start()) + 1}"
