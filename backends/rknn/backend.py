"""Rockchip's neural units by rknnlite, and the simulator of rknn-toolkit2."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from pydantic import Field

from edgebench.agent.facts import board_facts
from edgebench.contract import BackendOptions
from edgebench.errors import SessionError, UnavailableError
from edgebench.link.agent_backend import AgentBackend
from edgebench.link.agent_device import AgentDevice
from edgebench.link.board_findings import board_findings, package_finding
from edgebench.link.failures import Cause, explain_by_causes
from edgebench.prepare.chain import PreparedByChain
from edgebench.prepare.onnx import packages_finding
from edgebench.records.board_facts import BoardFacts
from edgebench.records.target import Target
from edgebench.records.values import Finding, Json

from .chain import FIX, PRECISION_REASONS, PYTHON, TOOLKIT, RknnChain, installed, toolkit

RUNTIME = "librknnrt.so"
INSTALL = (
    f"copy {RUNTIME} of the toolkit's release into /usr/lib of the board: it is in the folder rknpu2/runtime "
    "of Rockchip's repository rknn-toolkit2"
)
# Words of librknnrt and of rknnlite, as users have reported them.
_CAUSES = (
    Cause(
        r"(?s)(?:(?P<runtime>librknnrt version: [0-9.]+).*?)?"
        r"(?P<fault>Invalid RKNN (f\w+t|model version \d+))(?:.*(?P<model>model by rknn-toolkit2 [0-9.]+))?",
        f"{RUNTIME} there cannot read the model",
        "{fault}: {runtime}, {model}; a library that is older than the toolkit does not know its format",
        INSTALL,
    ),
    Cause(
        r"rknn model does not match the RKNPU hardware version",
        "the model is for another processor",
        "{line}",
        "name the board's processor: --set soc=rk3588, or another of `edgebench devices`",
    ),
    Cause(
        r"(?m)^E RKNN: [^\n]+|Please download the librknnrt.so",  # whatever else they say first
        "the neural unit cannot be used",
        "{line}",
        f"use a kernel that has the driver rknpu, as those of the boards' makers do, and {INSTALL}",
    ),
)


class RknnOptions(BackendOptions):
    """`--set` of a neural unit."""

    soc: Literal["rk3588", "rk3576", "rk3568", "rk3566", "rk3562"] = Field(
        default="rk3588", description="processor that the model is made for"
    )
    core_mask: Literal["auto", "0", "1", "2", "0_1", "0_1_2", "all"] = Field(
        default="auto", description="cores of the neural unit, on rk3588 and rk3576"
    )
    simulator: bool = Field(
        default=False, description="without a board: emulate it here with rknn-toolkit2, without times"
    )


class RknnBackend(PreparedByChain, AgentBackend):
    """Takes fp16 and int8, one patch at a time."""

    name = "rknn"
    description = "Rockchip's neural units (RK3588, 3576, 3568, 3566, 3562), by rknnlite"
    precisions = ("fp16", "int8")
    precision_reasons = PRECISION_REASONS
    most_batch = 1
    options_model = RknnOptions
    chain = RknnChain()
    board_packages = ("rknn-toolkit-lite2",)

    def open(self, target: Target, *, needs_runtime: bool = True) -> AgentDevice:
        """Open the board; the simulator, with the toolkit's Python unless the target names one."""
        if target.options.get("simulator") and target.host is None:
            python = target.launch.python or os.environ.get(PYTHON)
            target = replace(target, launch=replace(target.launch, python=python))
        return super().open(target, needs_runtime=needs_runtime)

    def runtime_finding(self, facts: Mapping[str, Json], target: Target) -> Finding | None:
        """Finding about rknnlite; of the simulator about the toolkit."""
        if not target.options.get("simulator"):
            return super().runtime_finding(facts, target)
        finding = package_finding(BoardFacts.of(facts), (TOOLKIT,))
        return replace(finding, fix=FIX) if finding.level == "error" else finding

    def check(self, target: Target) -> list[Finding]:
        """Findings about rknnlite, unless the device is emulated, about what prepares, and the machine."""
        findings = [*self.board_check({}, target), packages_finding(), *board_findings(board_facts())]
        if target.options.get("simulator"):
            return findings
        python, [package] = target.launch.python or sys.executable, self.board_packages
        version = installed(python, package, "rknnlite.api", target.launch.env)
        return [_finding(package, version, "error", f"{python} -m pip install {package}"), *findings]

    def board_check(self, facts: Mapping[str, Json], target: Target) -> list[Finding]:
        """Finding about the toolkit here, which prepares for every board."""
        return [_finding(TOOLKIT, toolkit("rknn.api"), "warning", FIX)]

    def explain(self, error: SessionError) -> SessionError | None:
        """A library, a driver or a processor that does not fit; None for any other failure."""
        text = f"{error.stderr_tail}\n{error.why}"
        return explain_by_causes(error, _CAUSES, (text,), self.name)


def _finding(
    package: str, version: str | UnavailableError, level: Literal["warning", "error"], fix: str
) -> Finding:
    if isinstance(version, str):
        return Finding("ok", package, version)
    return Finding(level, package, f"{version.what}: {version.why}", fix)
