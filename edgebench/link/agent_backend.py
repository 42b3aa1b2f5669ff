"""The base of every backend whose device runs Python: it supplies preparation, checks and a runner."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from edgebench.contract import Backend
from edgebench.errors import UnavailableError
from edgebench.installed import extra_with, with_relative_imports
from edgebench.link.agent_device import AgentDevice
from edgebench.link.board_findings import (
    SUDOERS,
    UNASKED,
    package_finding,
    require_power_mode,
    wanted_mode,
)
from edgebench.link.local import LocalLink, agent_file
from edgebench.link.ssh import Link, SshLink
from edgebench.prepare.cache import Cache
from edgebench.records.board_facts import BoardFacts
from edgebench.records.target import Target
from edgebench.records.values import Finding, Json

_log = logging.getLogger(__name__)


class AgentBackend(Backend):
    """Gives `open`: the agent on the target's host or on this machine, started with the target's Python."""

    takes_host = True
    device_type: ClassVar[type[AgentDevice]] = AgentDevice
    board_packages: ClassVar[tuple[str, ...]] = ()
    """Distributions that bring the runtime; one of them must be there on the board. Best first."""

    def open(self, target: Target, *, needs_runtime: bool = True) -> AgentDevice:
        """Start the agent; where the target says so, put the board into its power mode.

        Without `needs_runtime` a board that lacks the runtime is opened too, to describe it.

        Raises:
            UnavailableError: it does not answer, another harness holds the board, its Python has no runtime,
                or the board is in another power mode than the target asks for, and could not be put into it.
            UsageError: the target asks for a power mode that the board does not have.
        """
        device = self.device_type(
            open_link(target),
            self.runner_files(),
            explain=self.explain,
            own_clock=self.own_clock,
            locks=not self.own_clock,  # it times nothing of this machine: it disturbs nobody, and nobody it
            builds=self.builds,
        )
        try:
            if needs_runtime:
                self._require_runtime(device.describe(), target)
            if target.power_mode is not None:
                if target.set_power_mode:
                    put_into_power_mode(device, target)
                else:
                    require_power_mode(device.describe(), target)
        except BaseException:
            device.close()
            raise
        return device

    def runtime_finding(self, facts: Mapping[str, Json], target: Target) -> Finding | None:
        """Finding about the package that carries models out, by a board's facts; None where none is needed.

        An error keeps `open` from opening the device.
        """
        if not self.board_packages:
            return None
        finding = package_finding(BoardFacts.of(facts), self.board_packages)
        is_own_python = target.host is None and target.launch.python in (None, sys.executable)
        if finding.level == "error" and is_own_python and (extra := extra_with(finding.subject)):
            return replace(finding, fix=f"{sys.executable} -m pip install 'edgebench[{extra}]'")
        return finding

    def _require_runtime(self, facts: Mapping[str, Json], target: Target) -> None:
        """Raises UnavailableError for a Python without the runtime."""
        # The agent cannot see what PYTHONPATH adds for the worker alone.
        if BoardFacts.of(facts).packages is None or "PYTHONPATH" in target.launch.env:
            return
        finding = self.runtime_finding(facts, target)
        if finding is not None and finding.level == "error":
            raise UnavailableError(
                f"{target.name} cannot be measured: {finding.subject} is missing",
                why=finding.message,
                fix=finding.fix,
            )

    def runner_files(self) -> tuple[Path, ...]:
        """What travels to the board: the runner, then the files that it takes in by relative imports.

        The runner is `device/runner.py` in the folder of the backend, or of the one that it derives from;
        see edgebench.agent.runner_contract. FileNotFoundError where it is missing.
        """
        modules = [getattr(sys.modules[kind.__module__], "__file__", None) for kind in type(self).__mro__]
        runners = (Path(module).parent / "device" / "runner.py" for module in modules if module)
        runner = next((path for path in runners if path.is_file()), None)
        if runner is None:
            raise FileNotFoundError(f"no device/runner.py in the folder of {modules[0]}")
        return with_relative_imports((runner,))

    def board_check(self, facts: Mapping[str, Json], target: Target) -> list[Finding]:
        """What this device needs of a board besides the packages, by what the board says of itself."""
        return []


def open_link(target: Target) -> Link:
    """The way to where the target is: by SSH where it names a host, else on this machine.

    `AgentDevice(open_link(target), (), locks=False)` looks at a board or cleans it.
    """
    agent, digest = agent_file(Cache())
    if target.host is None:
        return LocalLink(agent, target.launch.python)
    return SshLink(target.host, agent, digest, target.launch.python)


def put_into_power_mode(device: AgentDevice, target: Target) -> None:
    """Set the mode that the target asks for, pin the clocks, and read back that both are in force.

    Raises:
        UsageError: the board has no power modes, or not that one.
        UnavailableError: it could not be set; the fix is the command to set it.
    """
    obstacle = device.set_power_mode(int(wanted_mode(device.describe(), target)))
    in_force = require_power_mode(device.describe(), target, obstacle or UNASKED)
    if obstacle:
        raise UnavailableError(
            f"the clocks of {target.name} could not be pinned in its power mode",
            why=obstacle,
            fix=f"on the board: {SUDOERS}, or leave --set-power-mode out",
        )
    _log.warning("%s: power mode %s is set and its clocks are pinned", target.name, in_force)
