"""Parts that the tests of one backend share: its artifacts, its device, each made once, and a small scene."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from edgebench import registry
from edgebench.contract import Backend, Device, Session
from edgebench.errors import NoPermissionError, SessionError, UnavailableError
from edgebench.link.agent_backend import AgentBackend, open_link
from edgebench.link.agent_device import AgentDevice
from edgebench.link.session_loop import Timeouts
from edgebench.prepare.cache import Cache
from edgebench.records.model import Artifact, Prepared, PrepareRequest
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import ImageSet, Json, Pictures, Scene, Variant
from edgebench.run.measuring.session import compare, require
from edgebench.run.settings import RunConfig
from edgebench.run.trials import choose_variants
from edgebench.run.trials import patches_of as measured_patches
from edgebench.testing.checks import Kit, ended, fail
from edgebench.testing.device_code import modules_of

# Patches, images and a small scene to try a device on, made of an artifact's golden patches.


ROWS, COLUMNS = 3, 4
BORDER = 5
"""Pixels beyond the last whole patch, which no patch may take in."""


def patches_of(artifact: Artifact, n: int) -> NDArray[np.uint8]:
    """Patches uint8 [n, height, width, 3]: golden ones, their negatives, and both with colours swapped."""
    golden: NDArray[np.uint8] = np.load(artifact.golden.patches)
    swapped = golden[..., ::-1]
    pool = np.concatenate([golden, 255 - golden, swapped, 255 - swapped])
    chosen: NDArray[np.uint8] = np.ascontiguousarray(pool[np.arange(n) % len(pool)])
    return chosen


def images_of(patches: NDArray[np.uint8], cache: Cache) -> ImageSet:
    """Make an image set without labels from patches."""
    return ImageSet("patches", *_stored(patches, cache), len(patches), None, ())


def scene_of(artifact: Artifact, cache: Cache) -> Scene:
    """A scene of twelve patches, with a border that belongs to no patch."""
    patches = patches_of(artifact, ROWS * COLUMNS)
    side = patches.shape[1]
    grid = patches.reshape(ROWS, COLUMNS, side, side, 3).transpose(0, 2, 1, 3, 4)
    pixels = np.pad(grid.reshape(ROWS * side, COLUMNS * side, 3), ((0, BORDER), (0, BORDER), (0, 0)))
    (path, digest), (height, width, _) = _stored(pixels, cache), pixels.shape
    return Scene(path, digest, height, width, side, name="twelve patches")


def _stored(pixels: NDArray[np.uint8], cache: Cache) -> tuple[Path, str]:
    file = io.BytesIO()
    np.save(file, pixels)
    return cache.add_bytes(file.getvalue(), ".npy")


def workers() -> set[int]:
    """Process numbers of the workers that agents of this process have started and that still run."""
    pids = set()
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if any(word.endswith(".pyz") and part == "worker" for word, part in pairwise(child.cmdline())):
                pids.add(child.pid)
    return pids


GOLDEN_TEST = "test_golden_scores"


class BackendKit(Kit):
    """A backend under test."""

    def __init__(self, contract: Any, cache: Cache, option: Callable[[str], Any] = lambda name: None) -> None:
        super().__init__(contract, cache, option)
        self._artifacts: dict[tuple[str, int], Artifact] = {}
        self._device: Device | None = None

    def obstacle(self, need: str) -> str:
        """Reason that there is no `agent`, nothing is `measured`, or the `golden` scores are wrong."""
        if need == "agent":
            has_agent = isinstance(self.backend, AgentBackend)
            return "" if has_agent else f"the device of {self.name} has no agent, worker and runner"
        if need == "measured":
            words = f"{self.name} plays the pictures, scores and times that it was given"
            return words if self.pictures else ""
        if GOLDEN_TEST in self.skips:
            return ""
        try:
            problems = self.golden_problems
        except (Exception, pytest.fail.Exception) as error:  # a backend under test raises what it likes
            problems = [str(error) or type(error).__name__]
        return f"not tried, because {GOLDEN_TEST} fails: {problems[0].splitlines()[0]}" if problems else ""

    # --- the host side ---

    @cached_property
    def registered(self) -> str | None:
        """The name by which its entry point is found; None for a backend that the class holds itself."""
        backend = self.asked("backend")
        if backend is None:
            pytest.skip("no backend was named: --edgebench-backend NAME, or `backend` in the class")
        return backend if isinstance(backend, str) else None

    @cached_property
    def backend(self) -> Backend:
        """The backend; UsageError when nothing is registered under its name."""
        backend: Backend = registry.backend(self.registered) if self.registered else self.contract.backend
        return backend

    @property
    def name(self) -> str:
        """Name that `--device` takes."""
        return self.backend.name

    @property
    def given_options(self) -> dict[str, Any]:
        """The options of the class, and for a backend of the command line those of `--edgebench-set`."""
        return {**self.contract.options, **({} if self.contract.backend else self.pairs("set"))}

    @cached_property
    def options(self) -> dict[str, Json]:
        """The options as a target has them, validated."""
        try:
            return self.backend.options_model.model_validate(self.given_options).model_dump(mode="json")
        except ValidationError as error:
            fail(
                f"{self.name} does not take the options {self.given_options}: {error}; fix: "
                "give a default to every option that can have one, or name the options that the test needs"
            )

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """Variants to try: the smallest of each precision, unless the test names others."""
        if self.contract.variants:
            return tuple(Variant.parse(name) for name in self.contract.variants)
        smallest: dict[str, Variant] = {}
        offered = self.backend.offers(self.options) or choose_variants(self.backend, (), ())
        for variant in sorted(offered, key=lambda offer: offer.depth_multiplier or 0.0):
            smallest.setdefault(variant.precision, variant)
        return tuple(smallest[name] for name in self.backend.precisions if name in smallest)

    @cached_property
    def target(self) -> Target:
        """The target that is opened."""
        launch = Launch(python=self.asked("python"))
        host, port = self.asked("host"), self.asked("port")
        return Target(self.name, self.name, self.options, launch, host=host, port=port)

    def request(self, variant: Variant, batch: int = 1) -> PrepareRequest:
        """Request for `prepare` and `prepare_inputs`."""
        return PrepareRequest(variant, batch, self.options)

    def prepare(self, requests: Sequence[PrepareRequest]) -> Sequence[Prepared]:
        """One outcome a request; skips the test where what prepares is not installed."""
        try:
            outcomes = self.backend.prepare(requests, self.cache, lambda text: None)
        except UnavailableError as error:
            self.missing(error.one_line)
        for outcome in outcomes:
            if isinstance(outcome, UnavailableError):
                self.missing(outcome.one_line)
        if len(outcomes) != len(requests):
            words = f"prepare gave {len(outcomes)} outcomes for {len(requests)} requests"
            fail(f"{words}; fix: give one outcome for each request, in order")
        return outcomes

    def artifact(self, variant: Variant | None = None, batch: int = 1) -> Artifact:
        """The artifact of a variant (default: the first of those that are tried), prepared once."""
        variant = variant or self.variants[0]
        if (variant.name, batch) not in self._artifacts:
            # Together, as a run asks for them: converters are slow to start.
            asked = self.variants if batch == 1 and variant in self.variants else (variant,)
            outcomes = self.prepare([self.request(wanted, batch) for wanted in asked])
            for wanted, outcome in zip(asked, outcomes, strict=True):
                if not isinstance(outcome, Artifact):
                    words = f"prepare gave no artifact of {wanted.name} at batch {batch}: {outcome}"
                    fail(f"{words}; fix: support it, or name others in `variants` and `batch`")
                self._artifacts[wanted.name, batch] = outcome
        return self._artifacts[variant.name, batch]

    @cached_property
    def pictures(self) -> Pictures | None:
        """The backend's own scene and images, where it takes no others; None for most."""
        return self.backend.pictures(self.options, self.cache)

    # --- the device ---

    @property
    def device(self) -> Device:
        """The open device; skips the test without one."""
        if self._device is None:
            self._device = self.opened()
        return self._device

    def opened(self, pass_limit_s: float | None = None) -> Device:
        """A device that the caller closes; skips the test without one.

        Args:
            pass_limit_s: of a device with an agent: after how long a pass counts as hung.
        """
        # An error of `doctor` prevents every session: its words are the reason.
        if self.target.host is None:
            for finding in self.backend.check(self.target):
                if finding.level == "error":
                    self.missing(f"{finding.subject}: {finding.message}; {finding.fix}")
        try:
            if pass_limit_s is None or not isinstance(self.backend, AgentBackend):
                return self.backend.open(self.target)
            timeouts = replace(Timeouts.from_environment(), measure=pass_limit_s)
            link, files, own_clock = open_link(self.target), self.runner_files, self.backend.own_clock
            return AgentDevice(link, files, timeouts, own_clock=own_clock, builds=self.backend.builds)
        except (UnavailableError, NoPermissionError) as error:
            self.missing(error.one_line)

    def session(
        self, artifact: Artifact, device: Device | None = None, others: tuple[Artifact, ...] = ()
    ) -> AbstractContextManager[Session]:
        """A session without probes, of several workers with `others`. Default: on the open device."""
        settings = SessionSettings(artifact.batch, self.options, self.target.launch, others=others)
        return (device or self.device).session(artifact, settings)

    @contextmanager
    def sound_session(
        self,
        subject: str,
        artifact: Artifact,
        device: Device | None = None,
        others: tuple[Artifact, ...] = (),
    ) -> Iterator[Session]:
        """A session whose early end fails the test."""
        try:
            with self.session(artifact, device, others) as session:
                yield session
        except SessionError as error:
            fail(ended(subject, error))

    def try_golden(self, artifact: Artifact, device: Device | None = None) -> None:
        """SessionError where a session on the device does not compute the artifact's golden scores."""
        with self.session(artifact, device) as session:
            require(compare(session.golden(), artifact.golden, self.options))

    @cached_property
    def golden_problems(self) -> list[str]:
        """Problems of each variant's golden scores; the device is asked once."""
        problems = []
        for variant in self.variants:
            artifact = self.artifact(variant)
            try:
                self.try_golden(artifact)
            except SessionError as error:
                problems.append(ended(f"{variant.name}: golden scores", error))
        return problems

    @property
    def runner_files(self) -> tuple[Path, ...]:
        """Files that travel to the device; empty where it has no agent."""
        return tuple(self.backend.runner_files()) if isinstance(self.backend, AgentBackend) else ()

    @cached_property
    def runtime_modules(self) -> set[str]:
        """Modules that the runner may import in addition to the standard library and numpy."""
        packages = self.backend.board_packages if isinstance(self.backend, AgentBackend) else ()
        return modules_of(packages) | set(self.contract.runtime_modules)

    def plan(self, artifact: Artifact, passes: int = 2) -> MeasurePlan:
        """Over twelve patches, or the backend's own scene, with little warm-up."""
        scene = self.pictures.scene if self.pictures else scene_of(artifact, self.cache)
        patches = measured_patches(RunConfig(passes=passes), self.backend, scene)
        return MeasurePlan(scene, passes, warmup_floor=2, warmup_cap=20, patches=patches)

    def close(self) -> None:
        """Close what is open."""
        if self._device is not None:
            self._device.close()
            self._device = None
