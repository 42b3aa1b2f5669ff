"""Why SSH did not lead to an agent: each cause with its message and its fix."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from edgebench.errors import EdgeBenchError, NoPermissionError, UnavailableError
from edgebench.link.board_failures import printable_lines
from edgebench.link.opening import OpeningFailed


@dataclass(frozen=True)
class _Cause:
    pattern: re.Pattern[str]
    what: str
    fix: str
    kind: Callable[..., EdgeBenchError] = UnavailableError


def _cause(
    pattern: str, what: str, fix: str, kind: Callable[..., EdgeBenchError] = UnavailableError
) -> _Cause:
    return _Cause(re.compile(pattern, re.IGNORECASE), what, fix, kind)


# In this order: a changed key also ends in "verification failed", and in "permission denied" at times.
_CAUSES = (
    _cause(
        r"remote host identification has changed|host key for .* has changed",
        "the host key of {board} is another one than before",
        "find out why (a new system on the board, or somebody between); then {forget} and {login} once",
        NoPermissionError,
    ),
    _cause(
        r"host key verification failed|host key is known for",
        "the host key of {board} is not known",
        "{login} once and compare the fingerprint that it shows with the board's",
        NoPermissionError,
    ),
    _cause(
        r"permission denied|too many authentication failures|no more authentication methods",
        "{board} does not let this user in without a password",
        "{copy} once, or load the key into ssh-agent where it has a passphrase; nobody is asked here",
        NoPermissionError,
    ),
    _cause(
        r"could not resolve hostname|name or service not known|nodename nor servname",
        "the host {board} cannot be found",
        "check the name, or give its address",
    ),
    _cause(
        r"connection refused",
        "{board} refuses the connection",
        "check that sshd runs there (sudo systemctl enable --now ssh), and the port",
    ),
    _cause(
        r"timed out|no route to host|network is unreachable|host is down|timeout, server",
        "{board} does not answer",
        "check that it is switched on and on this network",
    ),
    _cause(
        r"bad configuration option|bad owner or permissions|terminating, \d+ bad|no argument after keyword"
        r"|can't open user config file|unsupported option",
        "the SSH configuration cannot be used",
        "mend the file and line that ssh names",
        NoPermissionError,
    ),
    _cause(
        r"connection (closed|reset)|kex_exchange_identification|broken pipe|closed by remote host",
        "{board} closed the connection",
        "try {login}; the board's log says why it closed",
    ),
)


def not_connected(failed: OpeningFailed, address: str, login: str) -> EdgeBenchError:
    """Why no connection came about, from ssh's own words.

    Args:
        failed: of the process that should have opened the connection.
        address: the board, as the user named it.
        login: the ssh command without its options.
    """
    words = _lines(failed)
    text = "\n".join(words)
    host = address.rpartition("@")[2]
    names = {
        "board": address,
        "login": f"run '{login}'",
        "forget": f"run 'ssh-keygen -R {_known_as(host)}'",
        "copy": f"run '{login.replace('ssh', 'ssh-copy-id', 1)}'",
    }
    for cause in _CAUSES:
        if cause.pattern.search(text):
            why = next((line for line in words if cause.pattern.search(line)), text)
            return cause.kind(cause.what.format(**names), why=why, fix=cause.fix.format(**names))
    if failed.code is None:
        why = "nothing came back in time" if not words else words[-1]
        return UnavailableError(
            f"{address} does not answer", why=why, fix=f"run '{login}': it must log in without a question"
        )
    why = words[-1] if words else f"ssh ended with exit code {failed.code}"
    return UnavailableError(f"{address} cannot be reached by ssh", why=why, fix=f"see that '{login}' works")


def no_python(failed: OpeningFailed, address: str, python: str, login: str) -> EdgeBenchError:
    """Why the connection stands and no Python took the agent."""
    words = _lines(failed)
    text = "\n".join(words)
    last = words[-1] if words else f"exit code {failed.code}"
    if failed.code == 255:
        return not_connected(failed, address, login)
    if re.search(r"edgebench: python is ", text):
        return UnavailableError(
            f"{python} on {address} is too old",
            why=last.rpartition("edgebench: ")[2],
            fix="name a Python of 3.6 or newer with --python",
        )
    if re.search(r"exec format error|cannot execute binary", text, re.IGNORECASE):
        return UnavailableError(
            f"{python} on {address} is built for another processor",
            why=last,
            fix="name a Python of the board's own architecture with --python (uname -m tells it)",
        )
    if failed.code == 127 or re.search(r"not found|no such file", text, re.IGNORECASE):
        return UnavailableError(
            f"there is no {python} on {address}",
            why=last,
            fix="install it (sudo apt install python3 python3-numpy), or name another with --python",
        )
    if failed.code == 126 or re.search(r"permission denied", text, re.IGNORECASE):
        return NoPermissionError(
            f"{python} on {address} cannot be run", why=last, fix="name another Python with --python"
        )
    output = printable_lines(failed.stdout)
    why = last if words or not output else output[-1]
    if failed.code is None and not words:
        why = "it printed nothing in time" if not output else output[-1]
    if failed.stuck:
        why = "it read nothing in time"
    return UnavailableError(
        f"{python} on {address} takes no program",
        why=why,
        fix=f"see that '{login} {python} --version' works and says 3.6 or newer",
    )


def _known_as(host: str) -> str:
    name, _, port = host.rpartition(":")
    return f"[{name.strip('[]')}]:{port}" if name and port.isdigit() else host.strip("[]")


def _lines(failed: OpeningFailed) -> list[str]:
    return printable_lines(failed.stderr)
