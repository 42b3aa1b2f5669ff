"""Looking at a target without measuring it: what its board says of itself, and what is missing there."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from edgebench import registry
from edgebench.agent.bootstrap import UnsafeFolder, board_folder, require_private
from edgebench.agent.facts import board_facts
from edgebench.contract import Backend
from edgebench.errors import EdgeBenchError, UnavailableError, UsageError
from edgebench.link.agent_backend import AgentBackend, open_link
from edgebench.link.agent_device import AgentDevice, Cleaned
from edgebench.link.board_findings import board_findings, missing_findings
from edgebench.link.session_probes import BOARD, SessionProbes
from edgebench.prepare.cache import Cache
from edgebench.records.board_facts import BoardFacts, declared_finding
from edgebench.records.session import ProbeInfo
from edgebench.records.target import Target
from edgebench.records.values import Finding, Json

METER = "meter"
"""The subject of findings about a meter."""


@dataclass(frozen=True)
class Inspection:
    """What was found; without `facts` where the target could not be reached, or has no agent to ask."""

    facts: Mapping[str, Json] | None
    findings: tuple[Finding, ...]


def inspect_target(target: Target, backend: Backend) -> Inspection:
    """Connect, ask, disconnect; a target that cannot be reached is a finding. Takes no lock."""
    if not isinstance(backend, AgentBackend):
        return Inspection(None, tuple(backend.check(target)))
    try:
        with closing(AgentDevice(open_link(target), (), locks=False)) as device:
            obstacle = device.power_mode_obstacle() if target.set_power_mode else ""
            of_meters = board_probe_findings(device, target)
            facts, faults = device.describe(), device.launch_faults(target.launch)
    except EdgeBenchError as error:
        return Inspection(None, (_not_reached(error),))
    of_launch = [Finding("error", "launch", what, fix) for what, fix in faults]
    findings = missing_findings(facts, backend.board_packages, target, obstacle)
    findings += backend.board_check(facts, target) + board_findings(facts) + _declared(target, facts)
    return Inspection(facts, (*findings, *of_launch, *of_meters))


def require_answer(targets: Sequence[Target]) -> None:
    """Connect to the targets' hosts, one after the other, until one answers. A target on this machine does.

    Raises:
        UnavailableError, NoPermissionError: no host answers; the error of the first one.
    """
    errors: list[EdgeBenchError] = []
    for host, target in {target.host: target for target in targets}.items():
        try:
            if host is not None:
                AgentDevice(open_link(target), (), locks=False).close()
            return
        except EdgeBenchError as error:
            errors.append(error)
    if errors:
        raise errors[0]


def check_target(target: Target, backend: Backend) -> list[Finding]:
    """What doctor says: of a board by asking it, of this machine by its folders and the backend's checks."""
    folders = _folders_here() if target.host is None and isinstance(backend, AgentBackend) else []
    return _checked(target, backend) + host_probe_findings(target.meters) + folders


def host_probe_findings(meters: Sequence[str]) -> list[Finding]:
    """Whether those meters that sample on this machine answer; each is opened for a moment."""
    names = [name for name in meters if registry.samples_on_host(name)]
    if not names:
        return []
    try:
        with closing(AgentDevice(open_link(Target(name="", device="")), (), locks=False)) as device:
            return _meter_findings(device, names, (), registry.HOST)
    except EdgeBenchError as error:
        return [_not_reached(error)]


def _not_reached(error: EdgeBenchError) -> Finding:
    message = error.what + (f" ({error.why})" if error.why else "")
    return Finding("error", "connection", message, error.fix)


def _folders_here() -> list[Finding]:
    """What keeps a run on this machine from its folders: the cache, and that of the lock."""
    findings = []
    if (fault := Cache().fault()) is not None:
        findings.append(Finding("error", "cache", f"{fault.what} ({fault.why})", fault.fix))
    try:
        require_private(board_folder())
    except UnsafeFolder as error:
        message, _, fix = str(error).partition(": ")
        findings.append(Finding("error", "cache", message, fix))
    except OSError:
        pass  # it is not there yet: who makes it says why it cannot
    return findings


def _checked(target: Target, backend: Backend) -> list[Finding]:
    if target.host is not None or target.power_mode is not None or target.preferred_meters:
        here = [] if target.host is not None else backend.check(target)
        known = {finding.subject for finding in here}
        there = inspect_target(target, backend).findings
        return here + [finding for finding in there if finding.subject not in known]
    if not _has_boards_figures(target):
        return backend.check(target)
    machine = board_facts() if isinstance(backend, AgentBackend) else {}
    return backend.check(target) + _declared(target, machine)


def clean_target(target: Target, backend: Backend) -> Cleaned:
    """Remove EdgeBench's files from the target's board.

    Raises:
        UsageError: a target on this machine, whose files are shared, or one without an agent.
        UnavailableError: the board cannot be reached, or a measurement runs there.
    """
    if target.host is None or not isinstance(backend, AgentBackend):
        raise UsageError(
            f"{target.name} has no files of EdgeBench to clean",
            why="only a board that is reached by SSH keeps some",
            fix="name a target with a host; the cache on this machine is the folder EDGEBENCH_CACHE_DIR",
        )
    return AgentDevice(open_link(target), (), locks=False).clean()


def _declared(target: Target, facts: Mapping[str, Json]) -> list[Finding]:
    """Nothing where no figure is its boards'."""
    if not _has_boards_figures(target):
        return []
    return [declared_finding(target.boards, BoardFacts.of(facts).board, target.from_boards)]


def _has_boards_figures(target: Target) -> bool:
    return bool(target.boards and target.from_boards)


def board_probe_findings(device: AgentDevice, target: Target) -> list[Finding]:
    """Which of the target's meters on its board can be read, and which of its device's own a run takes."""
    names = [name for name in target.meters if not registry.samples_on_host(name)]
    preferred = target.preferred_meters
    if not names and not preferred:
        return []
    return _meter_findings(device, names, preferred, BOARD)


def _meter_findings(
    device: AgentDevice, names: Sequence[str], preferred: Sequence[str], place: str
) -> list[Finding]:
    probes = SessionProbes(names, workers=(), preferred=preferred)
    with device.sampling(probes, place):
        pass
    infos, reasons, _ = probes.facts()
    findings = [_answering(info, preferred) for info in infos]
    for name, reason in reasons.items():
        refusal = probes.refusals.get(name)
        why = refusal.reason if refusal else reason
        fix = (refusal.fix if refusal else "") or "repair it, or leave the meter out"
        findings.append(Finding("warning", METER, f"{name} cannot be read: {why}", fix))
    return findings


def _answering(info: ProbeInfo, preferred: Sequence[str]) -> Finding:
    """What a meter says of itself: what it lacks, and of a preferred one why better ones are not taken."""
    name = info.kind + (f":{info.address}" if info.address else "")
    message = f"{name} answers, {info.rate_hz:g} samples a second"
    if name in preferred:
        message = f"{name} is taken unless --meter names another, {info.rate_hz:g} samples a second"
    for lacking, reason in info.absent.items():
        message += f"; not {reason}" if lacking in preferred else f"; without {lacking}: {reason}"
    return Finding("ok", METER, message)


# A vendor's library, asked what it is in a process of its own: none lives in the harness's.


ASK_S = 120.0

Answer = TypeVar("Answer", bound=BaseModel)


def ask_library(
    name: str,
    program: Path | str,
    answer: type[Answer],
    python: str,
    env: Mapping[str, str],
    fix: str = "",
) -> Answer:
    """What the program's last line says, which is JSON.

    Args:
        name: of the library, for messages.
        program: a file of Python, or its text.
        answer: what the line holds.
        python: what runs it.
        env: set in addition to this process's own environment.
        fix: of a Python that gives no such line. Default: try the program.

    Raises:
        UnavailableError: that Python cannot be run, or gives no such line.
    """
    try:
        asked = subprocess.run(
            [python, *(["-c", program] if isinstance(program, str) else [str(program)])],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=ASK_S,
            check=False,
            env={**os.environ, **env},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnavailableError(f"{python} cannot be run", why=str(error), fix="name another Python") from None
    try:
        return answer.model_validate_json(asked.stdout.strip().splitlines()[-1])
    except (IndexError, ValidationError):
        last = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UnavailableError(
            f"{name} cannot be asked by {python}", why=last, fix=fix or f"try `{python} {program}`"
        ) from None
