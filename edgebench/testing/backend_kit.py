"""What the tests of one backend share: its artifacts, made once, and its device, opened once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import NoReturn

import pytest
from pydantic import ValidationError

from edgebench import registry
from edgebench.cache.objects import Cache
from edgebench.contract import Backend, Device
from edgebench.errors import EdgeBenchError, NoPermissionError, SessionError, UnavailableError
from edgebench.link.agent_backend import AgentBackend, open_link
from edgebench.link.agent_device import AgentDevice
from edgebench.link.timeouts import Timeouts
from edgebench.measure.golden import compare, require
from edgebench.plan.extent import Extent
from edgebench.plan.trials import choose_variants
from edgebench.testing.imports import modules_of
from edgebench.testing.pictures import scene_of
from edgebench.testing.problems import ended, fail
from edgebench.testing.subject import BackendSubject
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.pictures import Pictures
from edgebench.vocabulary.preparation import Prepared, PrepareRequest
from edgebench.vocabulary.session import MeasurePlan, SessionSettings
from edgebench.vocabulary.target import Launch, Target
from edgebench.vocabulary.values import Json
from edgebench.vocabulary.variant import Variant

GOLDEN_TEST = "test_golden_scores"


def silent(text: str) -> None:
    """A progress that nobody watches."""


class BackendKit:
    """A backend under test.

    Args:
        subject: what is tried, and how.
        cache: where its artifacts are prepared.
    """

    def __init__(self, subject: BackendSubject, cache: Cache) -> None:
        self.subject = subject
        self.cache = cache
        self._made: dict[tuple[str, int], Artifact] = {}
        self._device: Device | None = None

    # --- the host side ---

    @property
    def registered(self) -> bool:
        """Whether it was named, and so found by its entry point."""
        return isinstance(self.subject.backend, str)

    @cached_property
    def backend(self) -> Backend:
        """The backend; UsageError when nothing is registered under its name."""
        backend = self.subject.backend
        return registry.backend(backend) if isinstance(backend, str) else backend

    @cached_property
    def options(self) -> dict[str, Json]:
        """The options as a target has them, validated."""
        try:
            model = self.backend.options_model.model_validate(dict(self.subject.options))
        except ValidationError as error:
            fail(
                f"{self.backend.name} does not take the options {dict(self.subject.options)}: {error}",
                "give a default to every option that can have one, or name the options that the test needs",
            )
        return model.model_dump(mode="json")

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """What is tried: the smallest variant of each precision, unless the test names others."""
        if self.subject.variants:
            return tuple(Variant.parse(name) for name in self.subject.variants)
        smallest: dict[str, Variant] = {}
        offered = self.backend.offers(self.options) or choose_variants(self.backend, (), ())
        for variant in sorted(offered, key=lambda offer: offer.depth_multiplier or 0.0):
            smallest.setdefault(variant.precision, variant)
        return tuple(smallest[name] for name in self.backend.precisions if name in smallest)

    @cached_property
    def target(self) -> Target:
        """The target that is opened."""
        name = self.backend.name
        launch = Launch(python=self.subject.python)
        return Target(name, name, self.options, launch, host=self.subject.host, port=self.subject.port)

    def request(self, variant: Variant, batch: int = 1) -> PrepareRequest:
        """What is asked of `prepare` and `prepare_inputs`."""
        return PrepareRequest(variant, batch, self.options)

    def prepare(self, requests: Sequence[PrepareRequest]) -> Sequence[Prepared]:
        """`prepare`; skips the test where what prepares is not installed."""
        try:
            outcomes = self.backend.prepare(requests, self.cache, silent)
        except UnavailableError as error:
            self.missing(error)
        for outcome in outcomes:
            if isinstance(outcome, UnavailableError):
                self.missing(outcome)
        return outcomes

    def artifact(self, variant: Variant | None = None, batch: int = 1) -> Artifact:
        """The artifact of a variant (the first of those that are tried), made once."""
        variant = variant or self.variants[0]
        if (variant.name, batch) not in self._made:
            # Together, as a run asks for them: converters are slow to start.
            asked = self.variants if batch == 1 and variant in self.variants else (variant,)
            outcomes = self.prepare([self.request(wanted, batch) for wanted in asked])
            if len(outcomes) != len(asked):
                fail(
                    f"prepare gave {len(outcomes)} outcomes for {len(asked)} requests",
                    "give one a request, in order",
                )
            for wanted, outcome in zip(asked, outcomes, strict=True):
                if not isinstance(outcome, Artifact):
                    fail(
                        f"prepare gave no artifact of {wanted.name} at batch {batch}: {outcome}",
                        "support it, or name others in `variants` and `batch`",
                    )
                self._made[wanted.name, batch] = outcome
        return self._made[variant.name, batch]

    # --- the device ---

    @property
    def device(self) -> Device:
        """The open device; skips the test where there is none."""
        if self._device is None:
            self._device = self.opened()
        return self._device

    def opened(self) -> Device:
        """A device of the caller's own, to be closed by them; skips the test where there is none."""
        self._require_sound()
        try:
            return self.backend.open(self.target)
        except (UnavailableError, NoPermissionError) as error:
            self.missing(error)

    def impatient(self) -> AgentDevice:
        """Likewise, with little patience for a pass; skips the test where the device has no agent."""
        backend = self.agent_backend()
        self._require_sound()
        timeouts = replace(Timeouts.from_environment(), measure=self.subject.pass_limit_s)
        try:
            link, files = open_link(self.target), backend.runner_files()
            return AgentDevice(link, files, timeouts, own_clock=backend.own_clock, builds=backend.builds)
        except (UnavailableError, NoPermissionError) as error:
            self.missing(error)

    def agent_backend(self) -> AgentBackend:
        """The backend as one whose device runs Python; skips the test where it is none."""
        if not isinstance(self.backend, AgentBackend):
            pytest.skip(f"the device of {self.backend.name} has no agent, worker and runner")
        return self.backend

    @cached_property
    def golden_faults(self) -> tuple[tuple[str, str], ...]:
        """What is wrong with each variant's golden scores, and how to mend it; the device is asked once."""
        faults = []
        for variant in self.variants:
            artifact = self.artifact(variant)
            try:
                with self.device.session(artifact, self.settings()) as session:
                    require(compare(session.golden(), artifact.golden, self.options))
            except SessionError as error:
                faults.append(ended(f"{variant.name}: golden scores", error))
        return tuple(faults)

    def require_golden(self) -> BackendKit:
        """The kit itself; skips a test of sessions, with the reason, where the golden scores are wrong.

        Not where a test class leaves the golden scores out.
        """
        if GOLDEN_TEST in self.subject.skips:
            return self
        try:
            faults = [fault for fault, _ in self.golden_faults]
        except (Exception, pytest.fail.Exception) as error:  # a backend under test raises what it likes
            faults = [str(error) or type(error).__name__]
        if faults:
            pytest.skip(f"not tried, because {GOLDEN_TEST} fails: {faults[0].splitlines()[0]}")
        return self

    def settings(self, batch: int = 1) -> SessionSettings:
        """Of a session without probes."""
        return SessionSettings(batch, self.options, self.target.launch)

    @cached_property
    def pictures(self) -> Pictures | None:
        """The backend's own scene and images, where it looks at no others; None for most."""
        return self.backend.pictures(self.options, self.cache)

    @property
    def plays(self) -> bool:
        """Whether it plays what was recorded: its scores and times are not of what it is given."""
        return self.pictures is not None

    def plan(self, artifact: Artifact, passes: int = 2) -> MeasurePlan:
        """Over twelve patches, or the backend's own scene, with little warm-up."""
        scene = self.pictures.scene if self.pictures else scene_of(artifact, self.cache)
        return MeasurePlan(
            scene,
            passes,
            warmup_floor=2,
            warmup_cap=20,
            patches=Extent(passes).patches_of(self.backend, scene),
        )

    def close(self) -> None:
        """Close what is open."""
        if self._device is not None:
            self._device.close()
            self._device = None

    # --- what may be missing ---

    def runtime_modules(self) -> set[str]:
        """What the runner may import beside the standard library and numpy."""
        packages = self.backend.board_packages if isinstance(self.backend, AgentBackend) else ()
        return modules_of(packages) | set(self.subject.runtime_modules)

    def missing(self, error: EdgeBenchError) -> NoReturn:
        """Skip, or fail where the device has to be there, with the reason and the fix."""
        self._missing("; ".join(part for part in (error.what, error.why, error.fix) if part))

    def _missing(self, why: str) -> NoReturn:
        if self.subject.require_device:
            pytest.fail(f"not there, and --edgebench-require-device asks for it: {why}", pytrace=False)
        pytest.skip(why)

    def _require_sound(self) -> None:
        """What `doctor` calls an error stands in the way of every session: its words are the reason."""
        if self.subject.host is not None:
            return
        for finding in self.backend.check(self.target):
            if finding.level == "error":
                self._missing(f"{finding.subject}: {finding.message}; {finding.fix}")
