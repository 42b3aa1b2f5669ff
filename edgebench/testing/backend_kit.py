"""What the tests of one contract share: a backend's artifacts, made once, and its device, opened once."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from edgebench import registry
from edgebench.contract import Backend, Device, Session
from edgebench.errors import NoPermissionError, SessionError, UnavailableError, UsageError
from edgebench.link.agent_backend import AgentBackend, open_link
from edgebench.link.agent_device import AgentDevice
from edgebench.link.schedule import Timeouts
from edgebench.prepare.cache import Cache, sha256_file
from edgebench.records.model import Artifact, Prepared, PrepareRequest
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import ImageSet, Json, Pictures, Scene, Variant
from edgebench.run.measuring.session import compare, require
from edgebench.run.settings import RunConfig
from edgebench.run.trials import choose_variants
from edgebench.run.trials import patches_of as measured_patches
from edgebench.testing.problems import Promise, ended, fail, is_json, modules_of

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
    """Those patches as images without labels."""
    path, digest = _stored(patches, cache)
    return ImageSet("patches", path, digest, len(patches), None, ())


def scene_of(artifact: Artifact, cache: Cache) -> Scene:
    """A scene of twelve patches, with a border that belongs to none."""
    patches = patches_of(artifact, ROWS * COLUMNS)
    side = patches.shape[1]
    pixels = np.zeros((ROWS * side + BORDER, COLUMNS * side + BORDER, 3), np.uint8)
    grid = patches.reshape(ROWS, COLUMNS, side, side, 3).transpose(0, 2, 1, 3, 4)
    pixels[: ROWS * side, : COLUMNS * side] = grid.reshape(ROWS * side, COLUMNS * side, 3)
    path, digest = _stored(pixels, cache)
    return Scene(path, digest, pixels.shape[0], pixels.shape[1], side, name="twelve patches")


def _stored(pixels: NDArray[np.uint8], cache: Cache) -> tuple[Path, str]:
    held = io.BytesIO()
    np.save(held, pixels)
    return cache.add_bytes(held.getvalue(), ".npy")


GOLDEN_TEST = "test_golden_scores"


class Kit:
    """What the tests of one contract share.

    Args:
        contract: the test class, whose attributes say what is tried and how.
        cache: where artifacts are prepared and the agent is kept.
        option: an option of pytest's command line by its name.

    Attributes:
        note: adds a line to pytest's summary.
    """

    def __init__(self, contract: Any, cache: Cache, option: Callable[[str], Any] = lambda name: None) -> None:
        self.contract = contract
        self.cache = cache
        self.note: Callable[[str], object] = lambda text: None
        self._option = option

    def close(self) -> None:
        """Close what is open."""

    def asked(self, name: str) -> Any:
        """What the class says under a name, or a function that it names; else the command line."""
        value = getattr(self.contract, name)
        value = value() if callable(value) else value
        return self._option(f"edgebench_{name}") if value is None else value

    def pairs(self, name: str) -> dict[str, str]:
        """The values of a repeatable option `--edgebench-NAME KEY=VALUE`; UsageError for one without `=`."""
        pairs = {}
        for text in self._option(f"edgebench_{name}") or ():
            key, equals, value = text.partition("=")
            if not equals or not key.strip():
                flag = f"--edgebench-{name}"
                raise UsageError(f"{flag} {text!r} has no '='", fix=f"write it like {flag} name=value")
            pairs[key.strip()] = value.strip()
        return pairs

    def skip_where_asked(self, test: str) -> None:
        """Skip a test that the class or the command line leaves out; fail for a name that is no test."""
        # The command line speaks of whatever runs; a class of its own tests alone.
        if unknown := [name for name in self.contract.skips if not hasattr(self.contract, name)]:
            known = ", ".join(sorted(name for name in dir(self.contract) if name.startswith("test_")))
            fail(f"skips: there is no test {unknown[0]!r}", f"choose among {known}")
        reason = {**self.pairs("skip"), **self.contract.skips}.get(test)
        if reason is not None:
            pytest.skip(f"left out: {reason or 'no reason was given'}")

    def skip_unless(self, fine: bool, why: str) -> None:
        """Skip the test with a reason."""
        if not fine:
            pytest.skip(why)

    def missing(self, why: str) -> NoReturn:
        """Skip with the reason; fail where the device or the hardware has to be there."""
        if self._option("edgebench_require_device"):
            pytest.fail(f"not there, and --edgebench-require-device asks for it: {why}", pytrace=False)
        pytest.skip(why)


class BackendKit(Kit):
    """A backend under test."""

    def __init__(self, contract: Any, cache: Cache, option: Callable[[str], Any] = lambda name: None) -> None:
        super().__init__(contract, cache, option)
        self._artifacts: dict[tuple[str, int], Artifact] = {}
        self._device: Device | None = None

    # --- the host side ---

    @cached_property
    def registered(self) -> str | None:
        """The name by which its entry point is found; None for a backend that the class holds itself."""
        named = self.asked("backend")
        if named is None:
            pytest.skip("no backend was named: --edgebench-backend NAME, or `backend` in the class")
        return named if isinstance(named, str) else None

    @cached_property
    def backend(self) -> Backend:
        """The backend; UsageError when nothing is registered under its name."""
        backend: Backend = registry.backend(self.registered) if self.registered else self.contract.backend
        return backend

    @property
    def name(self) -> str:
        """As `--device` takes it."""
        return self.backend.name

    @property
    def given_options(self) -> dict[str, Any]:
        """The options as they were given, by the class and for a backend of the command line by that."""
        return {**self.contract.options, **({} if self.contract.backend else self.pairs("set"))}

    @cached_property
    def options(self) -> dict[str, Json]:
        """The options as a target has them, validated."""
        try:
            model = self.backend.options_model.model_validate(self.given_options)
        except ValidationError as error:
            fail(
                f"{self.name} does not take the options {self.given_options}: {error}",
                "give a default to every option that can have one, or name the options that the test needs",
            )
        return model.model_dump(mode="json")

    @cached_property
    def variants(self) -> tuple[Variant, ...]:
        """What is tried: the smallest variant of each precision, unless the test names others."""
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
        """What is asked of `prepare` and `prepare_inputs`."""
        return PrepareRequest(variant, batch, self.options)

    def prepare(self, requests: Sequence[PrepareRequest]) -> Sequence[Prepared]:
        """`prepare`; skips the test where what prepares is not installed."""
        try:
            outcomes = self.backend.prepare(requests, self.cache, lambda text: None)
        except UnavailableError as error:
            self.missing(error.one_line)
        for outcome in outcomes:
            if isinstance(outcome, UnavailableError):
                self.missing(outcome.one_line)
        return outcomes

    def artifact(self, variant: Variant | None = None, batch: int = 1) -> Artifact:
        """The artifact of a variant (the first of those that are tried), made once."""
        variant = variant or self.variants[0]
        if (variant.name, batch) not in self._artifacts:
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
                self._artifacts[wanted.name, batch] = outcome
        return self._artifacts[variant.name, batch]

    # --- the device ---

    @property
    def device(self) -> Device:
        """The open device; skips the test without one."""
        if self._device is None:
            self._device = self.opened()
        return self._device

    def opened(self, pass_limit_s: float | None = None) -> Device:
        """A device of the caller's own, to be closed by them; skips the test without one.

        Args:
            pass_limit_s: of a device with an agent: after how long a pass counts as hung.
        """
        # What `doctor` calls an error stands in the way of every session: its words are the reason.
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

    def session(self, artifact: Artifact, device: Device | None = None) -> AbstractContextManager[Session]:
        """A session without probes, on the open device unless another one is given."""
        settings = SessionSettings(artifact.batch, self.options, self.target.launch)
        return (device or self.device).session(artifact, settings)

    def try_golden(self, artifact: Artifact, device: Device | None = None) -> None:
        """SessionError where a session on the device does not compute the artifact's golden scores."""
        with self.session(artifact, device) as session:
            require(compare(session.golden(), artifact.golden, self.options))

    @cached_property
    def golden_promises(self) -> tuple[Promise, ...]:
        """What is wrong with each variant's golden scores; the device is asked once."""
        broken = []
        for variant in self.variants:
            artifact = self.artifact(variant)
            try:
                self.try_golden(artifact)
            except SessionError as error:
                broken.append(ended(f"{variant.name}: golden scores", error))
        return tuple(broken)

    def require_golden(self) -> None:
        """Skip a test of sessions, with the reason, where the golden scores are wrong.

        Not where the class leaves the golden scores out.
        """
        if GOLDEN_TEST in {**self.pairs("skip"), **self.contract.skips}:
            return
        try:
            faults = [fault for _, fault, _ in self.golden_promises]
        except (Exception, pytest.fail.Exception) as error:  # a backend under test raises what it likes
            faults = [str(error) or type(error).__name__]
        if faults:
            pytest.skip(f"not tried, because {GOLDEN_TEST} fails: {faults[0].splitlines()[0]}")

    def require_agent(self) -> None:
        """Skip the test where the backend's device runs no Python."""
        words = f"the device of {self.name} has no agent, worker and runner"
        self.skip_unless(isinstance(self.backend, AgentBackend), words)

    @property
    def runner_files(self) -> tuple[Path, ...]:
        """What travels to the device; none where it has no agent."""
        return tuple(self.backend.runner_files()) if isinstance(self.backend, AgentBackend) else ()

    @cached_property
    def runtime_modules(self) -> set[str]:
        """What the runner may import in addition to the standard library and numpy."""
        packages = self.backend.board_packages if isinstance(self.backend, AgentBackend) else ()
        return modules_of(packages) | set(self.contract.runtime_modules)

    @cached_property
    def pictures(self) -> Pictures | None:
        """The backend's own scene and images, where it looks at no others; None for most."""
        return self.backend.pictures(self.options, self.cache)

    def require_measured(self) -> None:
        """Skip the test of a backend that plays what was recorded: its scores and times are not its own."""
        words = f"{self.name} plays the pictures, scores and times that it was given"
        self.skip_unless(self.pictures is None, words)

    def plan(self, artifact: Artifact, passes: int = 2) -> MeasurePlan:
        """Over twelve patches, or the backend's own scene, with little warm-up."""
        scene = self.pictures.scene if self.pictures else scene_of(artifact, self.cache)
        return MeasurePlan(
            scene,
            passes,
            warmup_floor=2,
            warmup_cap=20,
            patches=measured_patches(RunConfig(passes=passes), self.backend, scene),
        )

    def close(self) -> None:
        """Close what is open."""
        if self._device is not None:
            self._device.close()
            self._device = None


# What is looked at in an artifact, and artifacts that contradict their own model.


def artifact_promises(artifact: Artifact, request: PrepareRequest, played: bool) -> Iterator[Promise]:
    """An artifact that was prepared for a request is whole.

    One that is `played` states the size of the model that it replaces.
    """
    subject = f"the artifact of {request.variant.name} at batch {request.batch}"
    names, spec, is_there = artifact.class_names, artifact.input, artifact.path.is_file()
    yield from (
        (
            artifact.variant == request.variant.name and artifact.batch == request.batch,
            f"{subject} says that it is {artifact.variant} at batch {artifact.batch}",
            "copy variant and batch from the request",
        ),
        (is_there, f"{subject}: there is no file {artifact.path}", "put it into the cache"),
        (
            not is_there or artifact.sha256 == sha256_file(artifact.path),
            f"{subject}: sha256 is not that of its file",
            "take the path and the hash that Cache.add_bytes or Cache.add_file return",
        ),
        (
            not is_there or played or artifact.size_bytes == artifact.path.stat().st_size,
            f"{subject}: size_bytes is {artifact.size_bytes}, which is not the size of the file",
            "take the size of the file",
        ),
        (bool(artifact.format.strip()), f"{subject} has no format", "name the format, such as tflite"),
        (
            len(names) > 1 and len(set(names)) == len(names) and all(name.strip() for name in names),
            f"{subject}: the class names {names!r} are not two or more, each once",
            "name the model's outputs in their order",
        ),
        is_json(artifact.provenance, f"{subject}: the provenance"),
        (
            Artifact.model_validate_json(artifact.model_dump_json()) == artifact,
            f"{subject} comes back from JSON as another",
            "keep plain values in provenance",
        ),
        (
            spec.height > 0 and spec.width == spec.height,
            f"{subject}: patches of {spec.width} x {spec.height}",
            "make them square, see InputSpec",
        ),
        (
            spec.dtype not in {"int8", "uint8"}
            or (spec.scale is not None and spec.scale > 0 and spec.zero_point is not None),
            f"{subject}: an input of {spec.dtype} without scale and zero point",
            "take both from the converted model: preprocessing is made of them",
        ),
        *_golden_file_promises(artifact, subject),
    )


def _golden_file_promises(artifact: Artifact, subject: str) -> Iterator[Promise]:
    golden, spec = artifact.golden, artifact.input
    words = f"{subject}: there are no golden patches at {golden.patches}"
    yield golden.patches.is_file(), words, "keep them next to it"
    if not golden.patches.is_file():
        return
    patches = np.load(golden.patches, mmap_mode="r")
    due = (len(golden.scores), spec.height, spec.width, 3)
    widths = {len(row) for row in golden.scores}
    yield from (
        (
            golden.patches_sha256 == sha256_file(golden.patches),
            f"{subject}: patches_sha256 is not that of the golden patches",
            "take the path and the hash that the cache returns",
        ),
        (
            patches.dtype == np.uint8 and patches.shape == due and len(golden.scores) > 0,
            f"{subject}: golden patches are {patches.dtype} {list(patches.shape)}, not uint8 {list(due)}",
            "one patch a row of the golden scores, one at least",
        ),
        (
            widths == {len(artifact.class_names)} and bool(np.isfinite(np.concatenate(golden.scores)).all()),
            f"{subject}: golden scores of {sorted(widths)} columns for {len(artifact.class_names)} classes",
            "one finite score a class",
        ),
        (
            np.isfinite(golden.tolerance) and 0 <= golden.tolerance < 1,
            f"{subject}: a tolerance of {golden.tolerance} catches nothing",
            "state the largest difference that the runtime's arithmetic explains",
        ),
        (
            bool(golden.reference.strip()),
            f"{subject}: the golden scores have no reference",
            "name what computed them",
        ),
    )


def contradictions(sound: Artifact) -> Iterator[tuple[str, Artifact]]:
    """Copies that say something else of the input than the model has, each with its words."""
    spec = sound.input
    integers = {"scale": 1 / 127.5, "zero_point": -1}
    for dtype in ("float32", "int8", "uint8", "float16"):
        if dtype == spec.dtype:
            continue
        values = integers if dtype.endswith("int8") else {"scale": None, "zero_point": None}
        other = spec.model_copy(update={"dtype": dtype, **values})
        yield f"an input of {dtype} for a model of {spec.dtype}", sound.model_copy(update={"input": other})
    layout = "NCHW" if spec.layout == "NHWC" else "NHWC"
    other = spec.model_copy(update={"layout": layout})
    yield f"a layout of {layout} for a model of {spec.layout}", sound.model_copy(update={"input": other})
    yield (
        f"a batch of {sound.batch + 1} for a model of {sound.batch}",
        sound.model_copy(update={"batch": sound.batch + 1}),
    )


# The workers among this process's descendants: the kit ends some of them on purpose.


def workers() -> set[int]:
    """Process numbers of the workers that agents of this process have started."""
    pids = set()
    for child in psutil.Process().children(recursive=True):
        try:
            words = child.cmdline()
        except psutil.Error:
            continue
        if any(
            word.endswith(".pyz") and words[at + 1 : at + 2] == ["worker"] for at, word in enumerate(words)
        ):
            pids.add(child.pid)
    return pids


def runs(pid: int) -> bool:
    """Whether a process is there and not only waiting to be collected."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
