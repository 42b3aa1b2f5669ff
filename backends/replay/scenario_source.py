"""A scenario as a source: its variants as scripts from which the runner draws every figure."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from edgebench.errors import UnsupportedError, UsageError
from edgebench.files import expand_home
from edgebench.prepare.cache import Cache, canonical_hash
from edgebench.prepare.images import obtain_array
from edgebench.records.model import Artifact, Golden, InputSpec
from edgebench.records.session import MeasurePlan
from edgebench.records.values import ImageSet, Json, Pictures, Scene, Variant

from .host_player import HOST_FORMAT
from .scenario import Scenario, read_scenario

# Stand-ins for the pictures of a replay: tiles of a class's colour, whose first pixel says the class.


MARK = (0xED, 0xB0)
"""Red and green of a stand-in's first pixel; blue is its class. The runner knows the same two."""

_PALETTE = ((30, 60, 110), (225, 230, 235), (60, 85, 40), (150, 125, 90), (190, 195, 200))
_RECIPE = "1"  # counts up when the same arguments would give other pixels


def marked(labels: Sequence[int], patch: int) -> NDArray[np.uint8]:
    """Tiles uint8 [n, patch, patch, 3]."""
    tiles = np.empty((len(labels), patch, patch, 3), np.uint8)
    for tile, label in zip(tiles, labels, strict=True):
        tile[:] = _PALETTE[label % len(_PALETTE)]
        tile[0, 0] = (*MARK, label % 256)
    return tiles


def stand_in_scene(
    cache: Cache, *, name: str, rows: int, columns: int, patch: int, class_names: Sequence[str]
) -> Scene:
    """A scene of rows x columns patches, every class as often as the others."""
    labels = [at % len(class_names) for at in range(rows * columns)]
    decides = {"rows": rows, "columns": columns, "patch": patch, "labels": labels, "recipe": _RECIPE}

    def pixels() -> NDArray[np.uint8]:
        tiles = marked(labels, patch).reshape(rows, columns, patch, patch, 3)
        return tiles.transpose(0, 2, 1, 3, 4).reshape(rows * patch, columns * patch, 3)

    cached = obtain_array(cache, "replay-scene", canonical_hash(decides), pixels)
    return Scene(
        path=cached.path,
        sha256=cached.sha256,
        height=rows * patch,
        width=columns * patch,
        patch=patch,
        labels=tuple(labels),
        class_names=tuple(class_names),
        name=name,
    )


def stand_in_images(cache: Cache, *, name: str, n: int, patch: int, class_names: Sequence[str]) -> ImageSet:
    """N images, black but for the pixel that says the class; every class as often as the others."""
    labels = [at % len(class_names) for at in range(n)]

    def pixels() -> NDArray[np.uint8]:
        images = np.zeros((n, patch, patch, 3), np.uint8)
        images[:, 0, 0] = [(*MARK, label % 256) for label in labels]
        return images

    decides = {"n": n, "patch": patch, "labels": labels, "recipe": _RECIPE}
    cached = obtain_array(cache, "replay-images", canonical_hash(decides), pixels)
    return ImageSet(
        name=name,
        path=cached.path,
        sha256=cached.sha256,
        n=n,
        labels=tuple(labels),
        class_names=tuple(class_names),
    )


SCENARIOS = Path(__file__).with_name("scenarios")
DEFAULT = "demo"
RECIPE = "replay-1"  # counts up when the same scenario would be played otherwise
FORMAT = "replay"
PATCH = 224
RIGHT = 0.8
"""Score of the class that is predicted; the others share the rest. The runner knows the same figure."""


@dataclass(frozen=True)
class ScenarioSource:
    """A scenario, with the SHA-256 of its file and the seed of its draws."""

    scenario: Scenario
    sha256: str
    seed: int

    @classmethod
    def of(cls, options: Mapping[str, Json]) -> ScenarioSource:
        """The scenario that a target's options name; UsageError if there is no such name."""
        source, seed = str(options.get("source") or DEFAULT), options.get("seed")
        shipped = sorted(path.stem for path in SCENARIOS.glob("*.toml"))
        path = SCENARIOS / f"{source}.toml" if source in shipped else Path(expand_home(source))
        # os.path's answer is no, and no error, for a name that is none.
        if path.suffix.lower() != ".toml" or not os.path.exists(path):  # noqa: PTH110
            raise UsageError(
                f"there is no scenario {source[:200]!r} to replay",
                fix=f"name a scenario's .toml file, or one of: {', '.join(shipped)}",
            )
        scenario, sha256 = read_scenario(path)
        return cls(scenario, sha256, seed if isinstance(seed, int) else scenario.seed)

    @property
    def name(self) -> str:
        """As the file says."""
        return f"the scenario {self.scenario.name}"

    def variants(self) -> tuple[Variant, ...]:
        """In the order of the file."""
        return tuple(Variant.parse(name) for name in self.scenario.variants)

    def artifact(self, variant: Variant, batch: int, cache: Cache) -> Artifact | UnsupportedError:
        """The variant's table and the seed; the input is pixels as they are, uint8 [batch, 224, 224, 3]."""
        play = self.scenario.variants[variant.name]
        if play.unsupported is not None:
            return UnsupportedError(f"{variant.name} is not taken, says {self.name}", why=play.unsupported)
        classes = self.scenario.classes
        labels = range(len(classes))
        rest = (1 - RIGHT) / (len(classes) - 1)
        script = {
            "kind": "scenario",
            "source": self.name,
            "source_sha256": self.sha256,
            "seed": self.seed,
            "variant": variant.name,
            "edges": list(play.edges()),
            "infos": play.infos(),
            # A script without windows has the same bytes as before there were any.
            "play": play.model_dump(
                mode="json", by_alias=True, exclude={"windows"} if play.windows is None else None
            ),
            "input_shape": [batch, PATCH, PATCH, 3],
            "classes": len(classes),
        }
        path, digest = cache.add_bytes(_zipped(script), ".zip")
        held = io.BytesIO()
        np.save(held, marked(labels, PATCH))
        patches, patches_sha256 = cache.add_bytes(held.getvalue(), ".npy")
        return Artifact(
            variant=variant.name,
            batch=batch,
            format=FORMAT if play.windows is None else HOST_FORMAT,
            path=path,
            sha256=digest,
            size_bytes=play.artifact_bytes,
            input=InputSpec(
                dtype="uint8", height=PATCH, width=PATCH, divisor=1.0, offset=0.0, scale=1.0, zero_point=0
            ),
            class_names=classes,
            golden=Golden(
                patches=patches,
                patches_sha256=patches_sha256,
                scores=tuple(tuple(RIGHT if at == label else rest for at in labels) for label in labels),
                reference="the scenario itself",
                tolerance=1e-6,
            ),
            provenance={"recipe": RECIPE, "source_sha256": self.sha256, "tools": {}},
        )

    def pictures(self, cache: Cache) -> Pictures:
        """Tiles, every class as often as the others."""
        scenario, n = self.scenario, self.scenario.images.n
        name, names = f"stand-in of {scenario.name}", scenario.classes
        rows, columns = scenario.scene.rows, scenario.scene.columns
        scene = stand_in_scene(cache, name=name, rows=rows, columns=columns, patch=PATCH, class_names=names)
        images = stand_in_images(cache, name=name, n=n, patch=PATCH, class_names=names) if n else None
        return Pictures(scene, images)

    def check_plan(self, plan: MeasurePlan, sessions: int) -> None:
        """UsageError where a variant lists fewer sessions or passes than these."""
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


def _zipped(script: Mapping[str, Any]) -> bytes:
    """A zip of `script.json`: the same bytes for the same content."""
    # A zip wants a time, and the time of making would make another file.
    entry = zipfile.ZipInfo("script.json", (1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(entry, json.dumps(script, sort_keys=True))
    return held.getvalue()
