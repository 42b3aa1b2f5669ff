"""A scenario as a source: its variants as scripts from which the runner draws every figure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgebench.cache.objects import Cache
from edgebench.errors import UnsupportedError, UsageError
from edgebench.vocabulary.artifact import Artifact
from edgebench.vocabulary.pictures import ImageSet, Pictures
from edgebench.vocabulary.session import MeasurePlan
from edgebench.vocabulary.variant import Variant

from .host_player import HOST_FORMAT
from .pictures import stand_in_images, stand_in_scene
from .scenario import Scenario
from .scenario_file import read_scenario
from .script import FORMAT, make_artifact

PATCH = 224
RIGHT = 0.8
"""Score of the class that is predicted; the others share the rest. The runner knows the same figure."""


@dataclass(frozen=True)
class DrawnSource:
    """Implements `Source`."""

    scenario: Scenario
    sha256: str
    seed: int

    @classmethod
    def read(cls, path: Path, seed: int | None) -> DrawnSource:
        """From a file, with the seed that it names unless another is given."""
        scenario, sha256 = read_scenario(path)
        return cls(scenario, sha256, scenario.seed if seed is None else seed)

    @property
    def name(self) -> str:
        """As the file says."""
        return f"the scenario {self.scenario.name}"

    def variants(self) -> tuple[Variant, ...]:
        """In the order of the file."""
        return tuple(Variant.parse(name) for name in self.scenario.variants)

    def concurrency(self) -> int:
        """Each batch is drawn after the one before it."""
        return 1

    def check_batch(self, variant: Variant, batch: int) -> None:
        """Any batch can be drawn."""

    def artifact(self, variant: Variant, batch: int, cache: Cache) -> Artifact | UnsupportedError:
        """The variant's table and the seed."""
        play = self.scenario.variants[variant.name]
        if play.unsupported is not None:
            return UnsupportedError(f"{variant.name} is not taken, says {self.name}", why=play.unsupported)
        classes = self.scenario.classes
        rest = (1 - RIGHT) / (len(classes) - 1)
        labels = range(len(classes))
        return make_artifact(
            cache,
            variant=variant,
            batch=batch,
            patch=PATCH,
            classes=classes,
            script={
                "kind": "scenario",
                "source": self.name,
                "source_sha256": self.sha256,
                "seed": self.seed,
                "variant": variant.name,
                "edges": list(play.edges()),
                "infos": play.infos(),
                # What does not ask for windows is the artifact that it always was.
                "play": play.model_dump(
                    mode="json", by_alias=True, exclude={"windows"} if play.windows is None else None
                ),
            },
            format_=FORMAT if play.windows is None else HOST_FORMAT,
            arrays={},
            golden=[[RIGHT if at == label else rest for at in labels] for label in labels],
            golden_labels=labels,
            reference="the scenario itself",
            tolerance=1e-6,
            size_bytes=play.artifact_bytes,
            source_sha256=self.sha256,
        )

    def pictures(self, cache: Cache) -> Pictures:
        """Tiles, every class as often as the others."""
        scenario, count = self.scenario, len(self.scenario.classes)
        rows, columns, n = scenario.scene.rows, scenario.scene.columns, scenario.images.n
        name = f"stand-in of {scenario.name}"
        labels = [at % count for at in range(rows * columns)]
        scene = stand_in_scene(
            cache,
            name=name,
            rows=rows,
            columns=columns,
            patch=PATCH,
            labels=labels,
            class_names=scenario.classes,
        )
        if not n:
            return Pictures(scene, None)
        image_labels = [at % count for at in range(n)]
        return Pictures(
            scene,
            stand_in_images(
                cache, name=name, n=n, patch=PATCH, labels=image_labels, class_names=scenario.classes
            ),
        )

    def check_plan(self, plan: MeasurePlan, images: ImageSet | None, sessions: int) -> None:
        """Lists of sessions and passes are as long as they are."""
        for name, play in self.scenario.variants.items():
            if not isinstance(play.image_s, list):
                continue
            if sessions > len(play.image_s):
                raise UsageError(
                    f"{self.name} lists {len(play.image_s)} sessions of {name}",
                    fix=f"add --sessions {len(play.image_s)}",
                )
            fewest = min(len(passes) for passes in play.image_s[:sessions])
            if plan.sustained_s is not None or plan.passes > fewest:
                raise UsageError(
                    f"{self.name} lists {fewest} passes of {name}",
                    fix=f"add --passes {fewest}, without --sustained",
                )
