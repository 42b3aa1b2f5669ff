"""What is held to the contract: from the attributes of a test class, or from pytest's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import pytest

from edgebench.contract import Backend
from edgebench.errors import UsageError


@dataclass(frozen=True)
class BackendSubject:
    """A backend and how it is tried.

    Attributes:
        backend: its name under the entry points, or the backend itself before it is registered.
        options: as `--set` takes them, validated by the backend's options model.
        variants: names; none for the smallest of what it takes at each of its precisions.
        batch: patches in a batch, where batches are tried; 1 for a device that takes none.
        deciding: options that decide the artifact, each with another value than the one it has.
        runtime_modules: what its runner imports beside the standard library and numpy.
        pass_limit_s: after how long a pass over twelve patches counts as hung.
        skips: tests that are left out.
    """

    backend: str | Backend
    options: Mapping[str, Any]
    variants: tuple[str, ...] = ()
    batch: int = 4
    deciding: Mapping[str, Any] | None = None
    runtime_modules: tuple[str, ...] = ()
    host: str | None = None
    port: str | None = None
    python: str | None = None
    pass_limit_s: float = 3.0
    require_device: bool = False
    skips: frozenset[str] = frozenset()


@dataclass(frozen=True)
class ProbeSubject:
    """A probe and how it is tried.

    Attributes:
        kind, address: as in `kind:address`.
        missing_address: one at which there is nothing.
        module: the probe's module before it is registered.
        window_s: for how long it samples.
        stop_s: after how long a probe that was stopped counts as hung; the agent waits three seconds, and a
            machine under load is given more.
    """

    kind: str
    address: str
    missing_address: str
    module: ModuleType | None = None
    window_s: float = 1.0
    stop_s: float = 20.0
    require_device: bool = False


def backend_subject(cls: Any, config: pytest.Config) -> BackendSubject:
    """Of a class derived from BackendContract; what it leaves out is taken from the command line."""
    backend = cls.backend or config.getoption("edgebench_backend")
    if backend is None:
        pytest.skip("no backend was named: --edgebench-backend NAME, or `backend` in the class")
    asked = () if cls.backend else config.getoption("edgebench_set")
    return BackendSubject(
        backend=backend,
        options={**cls.options, **dict(_pair(text, "--edgebench-set") for text in asked)},
        variants=tuple(cls.variants),
        batch=cls.batch,
        deciding=cls.deciding,
        runtime_modules=tuple(cls.runtime_modules),
        host=cls.host or config.getoption("edgebench_host"),
        port=_named(cls.port) or config.getoption("edgebench_port"),
        python=_named(cls.python) or config.getoption("edgebench_python"),
        pass_limit_s=cls.pass_limit_s,
        require_device=config.getoption("edgebench_require_device"),
        skips=frozenset(_skips(cls, config)),
    )


def _named(setting: Any) -> str | None:
    """The port or the Python that a class names, or that its function finds."""
    text: str | None = setting() if callable(setting) else setting
    return text


def probe_subject(cls: Any, config: pytest.Config) -> ProbeSubject:
    """Of a class derived from ProbeContract."""
    probe = cls.probe or config.getoption("edgebench_probe")
    if probe is None:
        pytest.skip("no probe was named: --edgebench-probe KIND[:ADDRESS], or `probe` in the class")
    module = probe if isinstance(probe, ModuleType) else None
    kind, _, address = (probe if module is None else module.__name__.rpartition(".")[2]).partition(":")
    return ProbeSubject(
        kind=kind,
        address=address,
        missing_address=cls.missing_address,
        module=module,
        window_s=cls.window_s,
        require_device=config.getoption("edgebench_require_device"),
    )


def skip_where_asked(cls: Any, test: str, config: pytest.Config) -> None:
    """Skip a test that the class or the command line leaves out; fail for a name that is no test."""
    # The command line speaks of whatever runs; a class of its own tests alone.
    if unknown := [name for name in cls.skips if not hasattr(cls, name)]:
        known = ", ".join(sorted(name for name in dir(cls) if name.startswith("test_")))
        pytest.fail(f"skips: there is no test {unknown[0]!r}\n  mend: choose among {known}", pytrace=False)
    reason = _skips(cls, config).get(test)
    if reason is not None:
        pytest.skip(f"left out: {reason or 'no reason was given'}")


def _skips(cls: Any, config: pytest.Config) -> dict[str, str]:
    """Tests that the command line or the class leaves out, with the reasons."""
    asked = dict(_pair(text, "--edgebench-skip") for text in config.getoption("edgebench_skip"))
    return {**asked, **cls.skips}


def _pair(text: str, flag: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{flag} {text!r} has no '='", fix=f"write it like {flag} name=value")
    return name.strip(), value.strip()
