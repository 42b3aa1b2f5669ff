"""What a test class says of the backend that it tries, and the tests that it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import pytest

from edgebench.contract import Backend
from edgebench.testing.golden_contract import GoldenContract
from edgebench.testing.subject import skip_where_asked


class Asked(GoldenContract):
    """The attributes of every part of a backend's contract.

    Attributes:
        backend: the name under the entry points, or a Backend that is not registered yet.
        options: as `--set` takes them.
        variants: which are tried; none for the smallest at each precision.
        batch: patches in a batch where batches are tried, 2 or more.
        deciding: options that decide the artifact, each with another value than it has.
        runtime_modules: what the runner imports beside the standard library, numpy and `board_packages`.
        host, port, python: where the device is and its Python, as in `--host`, `--port` and `--python`; a
            function that finds the port or the Python is called when a test needs it, and may skip.
        pass_limit_s: after how long a pass over twelve patches counts as hung.
        skips: tests that are left out, each with the reason that is shown.
    """

    backend: ClassVar[str | Backend | None] = None
    options: ClassVar[Mapping[str, Any]] = {}
    variants: ClassVar[Sequence[str]] = ()
    batch: ClassVar[int] = 4
    deciding: ClassVar[Mapping[str, Any] | None] = None
    runtime_modules: ClassVar[Sequence[str]] = ()
    host: ClassVar[str | None] = None
    port: ClassVar[str | Callable[[], str] | None] = None
    python: ClassVar[str | Callable[[], str] | None] = None
    pass_limit_s: ClassVar[float] = 3.0
    skips: ClassVar[Mapping[str, str]] = {}

    @pytest.fixture(autouse=True)
    def _leave_out(self, request: pytest.FixtureRequest) -> None:
        skip_where_asked(type(self), request.node.originalname, request.config)
