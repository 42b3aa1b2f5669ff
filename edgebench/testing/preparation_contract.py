"""What a backend makes: whole artifacts, once, and one outcome a request."""

from __future__ import annotations

from pathlib import Path

from edgebench.errors import UnsupportedError
from edgebench.testing import artifacts
from edgebench.testing.backend_kit import BackendKit
from edgebench.testing.kit_settings import Asked
from edgebench.testing.problems import fail, problems
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.variant import PRECISIONS, Variant


class PreparationContract(Asked):
    """No device is opened."""

    def test_artifacts_are_whole(self, edgebench_backend: BackendKit) -> None:
        """Files are there with the hashes that are stated; input, classes and golden patches are sound."""
        kit = edgebench_backend
        asked = dict.fromkeys(
            [*((variant, 1) for variant in kit.variants), (kit.variants[-1], kit.subject.batch)]
        )
        with problems() as faults:
            for variant, batch in asked:
                artifact = kit.artifact(variant, batch)
                artifacts.check(faults, artifact, kit.request(variant, batch), played=kit.plays)

    def test_a_second_preparation_comes_from_the_cache(self, edgebench_backend: BackendKit) -> None:
        """The same artifact, and its file is not written again."""
        kit = edgebench_backend
        prepared = [kit.artifact(variant) for variant in kit.variants]
        before = [_identity(artifact.path) for artifact in prepared]
        again = kit.prepare([kit.request(variant) for variant in kit.variants])
        with problems() as faults:
            for first, second, identity in zip(prepared, again, before, strict=True):
                if not faults.unless(
                    second == first,
                    f"{first.variant} is another artifact when it is prepared again",
                    "keep what was made under the hash of prepare_inputs (Cache.note_recipe)",
                ):
                    continue
                faults.unless(
                    _identity(first.path) == identity,
                    f"{first.variant} was written again although the cache holds it",
                    "look into the cache first; Cache.add_bytes writes nothing twice",
                )

    def test_one_outcome_a_request_in_order(self, edgebench_backend: BackendKit) -> None:
        """What is not supported is an UnsupportedError among the outcomes, and stops none of the others."""
        kit = edgebench_backend
        supported = list(kit.variants)
        depth = supported[0].depth_multiplier
        foreign = next(
            (precision for precision in PRECISIONS if precision not in kit.backend.precisions), "int4"
        )
        asked = [supported[-1], Variant(depth, foreign), supported[0]]
        try:
            outcomes = kit.prepare([kit.request(variant) for variant in asked])
        except UnsupportedError as error:
            fail(
                f"prepare raised UnsupportedError for {asked[1].name}: {error}",
                "return it in its place: the other requests have their artifacts all the same",
            )
        with problems() as faults:
            if not faults.unless(
                len(outcomes) == len(asked),
                f"prepare gave {len(outcomes)} outcomes for {len(asked)} requests",
                "give one a request, in order",
            ):
                return faults.report()
            refused = outcomes[1]
            if faults.unless(
                isinstance(refused, UnsupportedError),
                f"prepare made {refused!r} of {asked[1].name}, which is not among the precisions",
                "return an UnsupportedError for what the device does not take",
            ):
                faults.unless(
                    bool(str(refused).strip()),
                    "an UnsupportedError without a message",
                    "say why the device cannot take the variant, with the figure where there is one",
                )
            for index in (0, 2):
                outcome = outcomes[index]
                faults.unless(
                    isinstance(outcome, Artifact) and outcome.variant == asked[index].name,
                    f"outcome {index} is {_named(outcome)}, {asked[index].name} was due",
                    "give the outcomes in the order of the requests",
                )


def _identity(path: Path) -> tuple[int, int, int]:
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, status.st_size


def _named(outcome: object) -> str:
    return outcome.variant if isinstance(outcome, Artifact) else repr(outcome)
