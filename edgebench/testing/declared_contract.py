"""What a backend says of itself: name, options, what decides its artifacts, what stands in the way."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from edgebench import registry
from edgebench.cache.objects import canonical_hash
from edgebench.errors import UsageError
from edgebench.plan.targets import make_targets
from edgebench.testing.backend_kit import BackendKit
from edgebench.testing.imports import RUNTIMES
from edgebench.testing.kit_settings import Asked
from edgebench.testing.plugin import NOTE
from edgebench.testing.problems import Problems, fail, problems
from edgebench.vocabulary.finding import Finding
from edgebench.vocabulary.variant import PRECISIONS

ALONE_S = 120.0
UNKNOWN = "edgebench_knows_no_such_option"


class DeclaredContract(Asked):
    """Nothing is prepared and no device is opened."""

    def test_name_description_and_precisions(self, edgebench_backend: BackendKit) -> None:
        """They are what commands, tables and result files show."""
        backend = edgebench_backend.backend
        with problems() as faults:
            faults.unless(
                bool(re.fullmatch(r"[a-z][a-z0-9_-]{0,39}", str(backend.name))),
                f"the name {backend.name!r} cannot be typed and stored everywhere",
                "take lower-case letters, digits, - and _, beginning with a letter",
            )
            if edgebench_backend.registered:
                registered = edgebench_backend.subject.backend
                faults.unless(
                    backend.name == registered,
                    f"it is registered as {registered!r} and calls itself {backend.name!r}",
                    'give the entry point under "edgebench.backends" the name of the class',
                )
            faults.unless(
                bool(backend.description.strip()) and backend.description.isprintable(),
                f"the description {backend.description!r} is not one line",
                "say in one line what is measured, and by which runtime",
            )
            faults.unless(
                bool(backend.precisions)
                and set(backend.precisions) <= set(PRECISIONS)
                and len(set(backend.precisions)) == len(backend.precisions),
                f"the precisions {backend.precisions!r} are not some of {PRECISIONS}, each once",
                "name those that the device takes",
            )
            faults.unless(
                set(backend.default_precisions) <= set(backend.precisions),
                f"the default precisions {backend.default_precisions!r} are not all among its precisions",
                "name some of those that the device takes, or none for all of them",
            )
            faults.unless(
                1 <= backend.default_batch <= backend.most_batch,
                f"default_batch is {backend.default_batch!r} and most_batch is {backend.most_batch!r}",
                "name the batch of a run that asks for none, and the largest that the device takes",
            )
            kinds = registry.names("edgebench.probes")
            for meter in backend.meters:
                faults.unless(
                    meter.partition(":")[0] in kinds
                    and not registry.is_monitor(meter)
                    and not registry.samples_on_host(meter),
                    f"{meter!r} of its meters is not a meter on the board",
                    f"name registered probes with a power channel and PLACE = 'board', among {kinds}",
                )

    def test_concurrency(self, edgebench_backend: BackendKit) -> None:
        """It is a number of inferences, the same for the same options: it is part of every key."""
        kit = edgebench_backend
        options = kit.backend.options_model.model_validate(dict(kit.subject.options)).model_dump(mode="json")
        counts = [kit.backend.concurrency(options) for _ in range(2)]
        with problems() as faults:
            faults.unless(
                all(type(count) is int and count >= 1 for count in counts) and len(set(counts)) == 1,
                f"concurrency is {counts[0]!r}, then {counts[1]!r}, under the options {options}",
                "return how many inferences the device has in flight: a whole number, 1 or more",
            )

    def test_options(self, edgebench_backend: BackendKit) -> None:
        """Unknown keys are refused, defaults are valid, the model cannot be changed, JSON carries it."""
        kit = edgebench_backend
        model = kit.backend.options_model
        with problems() as faults:
            options = model.model_validate(dict(kit.subject.options))
            _check_options(faults, model, options)
            _check_refusal(faults, kit)
            back = model.model_validate(json.loads(options.model_dump_json()))
            faults.unless(
                back == options,
                f"the options {options} come back from JSON as {back}",
                "use fields of JSON's own types, or types that pydantic turns back",
            )
            # Text is what --set gives: an option that only takes Python's own types cannot be set.
            for name, value in options.model_dump(mode="json").items():
                if isinstance(value, str | int | float) and not isinstance(value, bool):
                    _check_typed(
                        faults, model, {**options.model_dump(mode="json"), name: str(value)}, name, options
                    )

    def test_prepare_inputs(
        self, edgebench_backend: BackendKit, record_property: Callable[[str, object], None]
    ) -> None:
        """They are JSON, the same when asked twice, and differ where the artifact differs."""
        kit = edgebench_backend
        requests = [
            kit.request(variant, batch)
            for variant in kit.variants
            for batch in dict.fromkeys((1, kit.subject.batch))
        ]
        began = time.perf_counter()
        inputs = [kit.backend.prepare_inputs(request) for request in requests]
        spent_us = (time.perf_counter() - began) * 1e6 / len(requests)
        record_property(NOTE, f"{kit.backend.name}: prepare_inputs took {spent_us:.0f} us a request")
        with problems() as faults:
            for request, prepare_inputs in zip(requests, inputs, strict=True):
                subject = f"prepare_inputs of {request.variant.name} at batch {request.batch}"
                if not faults.unless_json(prepare_inputs, subject):
                    return faults.report()
                faults.unless(
                    kit.backend.prepare_inputs(request) == prepare_inputs,
                    f"{subject} differ when they are asked for twice",
                    "leave times, random numbers and paths of scratch folders out",
                )
            hashes = [canonical_hash(prepare_inputs) for prepare_inputs in inputs]
            for index, request in enumerate(requests):
                if (first := hashes.index(hashes[index])) < index:
                    other = requests[first]
                    faults.add(
                        f"prepare_inputs are the same for {other.variant.name} at batch {other.batch} and "
                        f"{request.variant.name} at batch {request.batch}",
                        "put the variant and the batch in: they are hashed into the key of the trial",
                    )
            for name, value in (kit.subject.deciding or {}).items():
                changed = replace(requests[0], options={**kit.options, name: value})
                faults.unless(
                    canonical_hash(kit.backend.prepare_inputs(changed)) != hashes[0],
                    f"the option {name} decides the artifact, and prepare_inputs are the same with {value!r}",
                    f"put request.options[{name!r}] in",
                )

    def test_looking_at_it_loads_no_runtime(self, edgebench_backend: BackendKit, tmp_path: Path) -> None:
        """In a process of its own: no runtime is imported, nothing is made, the inputs are the same."""
        kit = edgebench_backend
        backend = kit.backend
        kind = type(backend)
        asked = {
            "backend": backend.name if kit.registered else f"{kind.__module__}:{kind.__qualname__}",
            "options": kit.options,
            "variants": [variant.name for variant in kit.variants],
            "batch": 1,
        }
        cache = tmp_path / "cache"
        paths = os.pathsep.join(path for path in sys.path if path)
        done = subprocess.run(
            [sys.executable, "-m", "edgebench.testing.lone_backend", json.dumps(asked)],
            env={**os.environ, "PYTHONPATH": paths, "PYTHONHASHSEED": "4", "EDGEBENCH_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
            timeout=ALONE_S,
            check=False,
        )
        if done.returncode != 0:
            fail(
                f"it cannot be loaded in a process of its own: {done.stderr[-2000:]}",
                "see what it says there",
            )
        answer = json.loads(done.stdout.strip().splitlines()[-1])
        with problems() as faults:
            loaded = set(answer["modules"]) & (RUNTIMES | kit.runtime_modules())
            faults.unless(
                not loaded,
                f"looking at the backend imports {', '.join(sorted(loaded))}",
                "import a runtime in the runner, or in a process that converts; never in the harness's own",
            )
            here = [canonical_hash(backend.prepare_inputs(kit.request(variant))) for variant in kit.variants]
            faults.unless(
                answer["hashes"] == here,
                "prepare_inputs differ in another process",
                "sort what comes from sets; leave process numbers, times and object addresses out",
            )
            written = [path for path in cache.rglob("*") if path.is_file()] if cache.exists() else []
            faults.unless(
                not written,
                f"prepare_inputs wrote {len(written)} files into the cache",
                "make things in prepare alone",
            )

    def test_check_has_a_fix_for_each_problem(self, edgebench_backend: BackendKit) -> None:
        """`doctor` says what stands in the way, and what to do about it."""
        findings = edgebench_backend.backend.check(edgebench_backend.target)
        with problems() as faults:
            for finding in findings:
                if not faults.unless(
                    isinstance(finding, Finding) and finding.level in {"ok", "warning", "error"},
                    f"check gave {finding!r}",
                    'give vocabulary.finding.Finding("ok" | "warning" | "error", subject, message, fix)',
                ):
                    continue
                faults.unless(
                    bool(finding.subject.strip()) and bool(finding.message.strip()),
                    f"a finding without a subject or a message: {finding!r}",
                    "say what was looked at and what was seen",
                )
                faults.unless(
                    finding.level == "ok" or bool(finding.fix.strip()),
                    f"{finding.level} without a fix: {finding.subject}: {finding.message}",
                    "say what the user has to do",
                )


def _check_options(faults: Problems, model: Any, options: Any) -> None:
    try:
        model.model_validate({**options.model_dump(), UNKNOWN: "1"})
    except ValidationError:
        pass
    else:
        faults.add(
            f"an unknown option is taken: {UNKNOWN}",
            'derive from edgebench.contract.BackendOptions and leave extra="forbid" as it is',
        )
    defaults = {
        name: field.get_default(call_default_factory=True)
        for name, field in model.model_fields.items()
        if not field.is_required()
    }
    for name, value in defaults.items():
        try:
            model.model_validate({**options.model_dump(), name: value})
        except ValidationError as error:
            reason = error.errors()[0]["msg"]
            faults.add(f"the default of {name}, {value!r}, is not valid: {reason}", "give one that is")
    for name in model.model_fields:
        try:
            setattr(options, name, getattr(options, name))
        except ValidationError:
            continue
        faults.add(
            "the options can be changed after they were validated",
            "derive from edgebench.contract.BackendOptions and leave frozen=True as it is",
        )
        return


def _check_refusal(faults: Problems, kit: BackendKit) -> None:
    """As a user meets it: `--set` of a key that does not exist names those that do."""
    try:
        make_targets({kit.backend.name: kit.backend}, (f"{UNKNOWN}=1",), ())
    except UsageError as error:
        absent = [name for name in kit.backend.options_model.model_fields if name not in error.fix]
        faults.unless(
            not absent, f"--set of an unknown key does not name {absent}: {error.fix}", "name every option"
        )
    else:
        faults.add("--set takes an unknown key", "do not name an option as the test does")


def _check_typed(faults: Problems, model: Any, texts: dict[str, Any], name: str, options: Any) -> None:
    try:
        same = model.model_validate(texts) == options
    except ValidationError as error:
        same, texts = False, {name: error.errors()[0]["msg"]}
    faults.unless(
        same,
        f"the option {name} cannot be given as text, as --set gives it: {texts.get(name)}",
        "take text as well: no strict types",
    )
