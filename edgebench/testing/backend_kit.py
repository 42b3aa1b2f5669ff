"""What the tests of one backend share: its artifacts, made once, and its device, opened once."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, NoReturn

import numpy as np
import psutil
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from edgebench import registry
from edgebench.contract import Backend, Device
from edgebench.errors import EdgeBenchError, NoPermissionError, SessionError, UnavailableError, UsageError
from edgebench.link.agent_backend import AgentBackend, open_link
from edgebench.link.agent_device import AgentDevice
from edgebench.link.schedule import Timeouts
from edgebench.prepare.cache import Cache, sha256_file
from edgebench.records.model import Artifact, InputSpec, Prepared, PrepareRequest
from edgebench.records.session import MeasurePlan, SessionSettings
from edgebench.records.target import Launch, Target
from edgebench.records.values import ImageSet, Json, Pictures, Scene
from edgebench.records.variant import Variant
from edgebench.run.measuring.session import compare, require
from edgebench.run.trials import Extent, choose_variants
from edgebench.testing.problems import Problems, ended, fail, modules_of, problems

# What is held to the contract: from the attributes of a test class, or from pytest's options.


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


# What is asked first of a device: the golden scores, and their shape.


class GoldenContract:
    """The last of a contract's bases, because pytest tries the tests of the last base first.

    Where a device computes something else than its artifact, every other test of its sessions would fail
    with words about locks, padding or stamps: they ask `BackendKit.require_golden` and skip instead.
    """

    def test_golden_scores(self, edgebench_backend: BackendKit) -> None:
        """Each variant computes what its artifact says, before anything is timed."""
        with problems() as faults:
            for fault, mend in edgebench_backend.golden_faults:
                faults.add(fault, mend)


# What a test class says of the backend that it tries, and the tests that it leaves out.


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


# What is looked at in an artifact, and artifacts that contradict their own model.


def check(faults: Problems, artifact: Artifact, request: PrepareRequest, *, played: bool = False) -> None:
    """Add whatever is wrong with an artifact that was prepared for a request.

    One that is `played` states the size of what it stands for.
    """
    subject = f"the artifact of {request.variant.name} at batch {request.batch}"
    faults.unless(
        artifact.variant == request.variant.name and artifact.batch == request.batch,
        f"{subject} says that it is {artifact.variant} at batch {artifact.batch}",
        "copy variant and batch from the request",
    )
    if faults.unless(
        artifact.path.is_file(), f"{subject}: there is no file {artifact.path}", "put it into the cache"
    ):
        faults.unless(
            artifact.sha256 == sha256_file(artifact.path),
            f"{subject}: sha256 is not that of its file",
            "take the path and the hash that Cache.add_bytes or Cache.add_file return",
        )
        faults.unless(
            played or artifact.size_bytes == artifact.path.stat().st_size,
            f"{subject}: size_bytes is {artifact.size_bytes}, the file has {artifact.path.stat().st_size}",
            "take the size of the file",
        )
    faults.unless(
        bool(artifact.format.strip()), f"{subject} has no format", "name the format, such as tflite"
    )
    names = artifact.class_names
    faults.unless(
        len(names) > 1 and len(set(names)) == len(names) and all(name.strip() for name in names),
        f"{subject}: the class names {names!r} are not two or more, each once",
        "name the model's outputs in their order",
    )
    faults.unless_json(artifact.provenance, f"{subject}: the provenance")
    faults.unless(
        Artifact.model_validate_json(artifact.model_dump_json()) == artifact,
        f"{subject} comes back from JSON as another",
        "keep plain values in provenance",
    )
    _check_input(faults, artifact.input, subject)
    _check_golden(faults, artifact, subject)


def contradictions(sound: Artifact) -> Iterator[tuple[str, Artifact]]:
    """Copies that say something else of the input than the model has, and in which words."""
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


def _check_input(faults: Problems, spec: InputSpec, subject: str) -> None:
    faults.unless(
        spec.height > 0 and spec.width == spec.height, f"{subject}: patches are square", "see InputSpec"
    )
    if spec.dtype in {"int8", "uint8"}:
        faults.unless(
            spec.scale is not None and spec.scale > 0 and spec.zero_point is not None,
            f"{subject}: an input of {spec.dtype} without scale and zero point",
            "take both from the converted model: preprocessing is made of them",
        )


def _check_golden(faults: Problems, artifact: Artifact, subject: str) -> None:
    golden, spec = artifact.golden, artifact.input
    if not faults.unless(
        golden.patches.is_file(),
        f"{subject}: there are no golden patches at {golden.patches}",
        "keep them beside it",
    ):
        return
    faults.unless(
        golden.patches_sha256 == sha256_file(golden.patches),
        f"{subject}: patches_sha256 is not that of the golden patches",
        "take the path and the hash that the cache returns",
    )
    patches = np.load(golden.patches, mmap_mode="r")
    due = (len(golden.scores), spec.height, spec.width, 3)
    faults.unless(
        patches.dtype == np.uint8 and patches.shape == due and len(golden.scores) > 0,
        f"{subject}: golden patches are {patches.dtype} {list(patches.shape)}, uint8 {list(due)} were due",
        "one patch a row of the golden scores, one at least",
    )
    widths = {len(row) for row in golden.scores}
    faults.unless(
        widths == {len(artifact.class_names)} and bool(np.isfinite(np.concatenate(golden.scores)).all()),
        f"{subject}: golden scores of {sorted(widths)} columns for {len(artifact.class_names)} classes",
        "one finite score a class",
    )
    faults.unless(
        np.isfinite(golden.tolerance) and 0 <= golden.tolerance < 1,
        f"{subject}: a tolerance of {golden.tolerance} catches nothing",
        "state the largest difference that the runtime's arithmetic explains",
    )
    faults.unless(
        bool(golden.reference.strip()),
        f"{subject}: the golden scores have no reference",
        "name what computed them",
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
