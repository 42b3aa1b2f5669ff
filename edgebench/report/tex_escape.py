"""Text from outside as LaTeX shows it: no character of it is a command."""

from __future__ import annotations

_COMMANDS = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_\allowbreak{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    "\n": r"\newline{}",
    "\N{NO-BREAK SPACE}": "~",
    "±": r"\ensuremath{\pm}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "≈": r"\ensuremath{\approx}",
    "×": r"\ensuremath{\times}",
    "✓": r"\checkmark{}",
    "✕": r"\ensuremath{\times}",
    "·": r"\textperiodcentered{}",
    "…": r"\ldots{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "•": r"\textbullet{}",
    "°": r"\textdegree{}",
    "µ": r"\textmu{}",
    "Ω": r"\ensuremath{\Omega}",
    "²": r"\ensuremath{^2}",
}
_LATIN = range(0xC0, 0x100)
"""Letters that T1 fonts have; the two signs among them stand above."""


def escape(text: str) -> str:
    """Plain text for LaTeX; what pdfLaTeX's fonts lack is given by its number, to the macro `character`."""
    escaped = "".join(map(_escaped, text))
    for sign in "-,":  # which are another sign beside one another, such as a dash
        escaped = escaped.replace(2 * sign, f"{sign}{{}}{sign}{{}}")
    return escaped


def _escaped(char: str) -> str:
    if char in _COMMANDS:
        return _COMMANDS[char]
    if (char.isascii() and char.isprintable()) or (ord(char) in _LATIN and char.isalpha()):
        return char
    return rf"\character{{{ord(char):04X}}}"
