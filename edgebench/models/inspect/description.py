"""What `edgebench models show` tells of a model file, weights, a variant or a family, as plain data."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

from edgebench.cache.objects import Cache, sha256_file
from edgebench.errors import InputError, UsageError
from edgebench.models.families import catalogue
from edgebench.models.families.weights import has_shipped, shapes_of, shipped_weights
from edgebench.models.inspect.model_file import SUFFIXES, as_record, inspect_model
from edgebench.models.prepare.tflite import TfliteChain
from edgebench.models.train.trained_weights import RECORD_SUFFIX, read_record
from edgebench.vocabulary.model_source import SHIPPED, ModelSource
from edgebench.vocabulary.preparation import PrepareRequest
from edgebench.vocabulary.variant import PRECISIONS, Variant


def show(what: str, cache: Cache) -> dict[str, Any]:
    """The facts of a file, else of the variant or the family of that name.

    Of a file: `ModelFacts` as a dict, with `name` and `path`. Of weights and families: what of these fields
    is known, and `family`. Of a variant: its prepared .tflite file. InputError and UsageError where there is
    no such thing.
    """
    path = Path(what).expanduser()
    if path.suffix.lower() == ".npz":
        return _weights(path)
    if path.exists() or path.suffix.lower() in SUFFIXES:
        return {"name": path.name, "path": str(path), **as_record(inspect_model(path))}
    if what in catalogue.known():
        return _family(what)
    return _variant(what, cache)


def list_families() -> list[dict[str, Any]]:
    """Every family: its widths with their parameters and MACs, and whether trained weights are shipped."""
    return [_family(name) for name in catalogue.known()]


def _family(name: str) -> dict[str, Any]:
    family = catalogue.spec(name)
    return {
        "name": name,
        "format": "family",
        "source": family.source,
        "input": {"height": catalogue.SIZE, "width": catalogue.SIZE, **_pixels(family)},
        "classes": catalogue.CLASSES,
        "widths": [
            {
                "width": width,
                "parameters": parameters,
                "macs": macs,
                "weights": "trained" if has_shipped(name, width) else "random",
            }
            for width, (parameters, macs) in family.figures.items()
        ],
        "precisions": list(PRECISIONS),
    }


def _pixels(family: catalogue.Family) -> dict[str, float]:
    return {"divisor": family.divisor, "offset": family.offset}


def _weights(path: Path) -> dict[str, Any]:
    """Of a .npz; which family it is of is known from the record beside it, or because it is shipped."""
    shapes = shapes_of(path)
    record_fields: dict[str, Any] = {
        "name": path.name,
        "path": str(path),
        "format": "weights",
        "parameters": sum(prod(shape) for shape in shapes.values()),
        "size_bytes": path.stat().st_size,
        "sha256": sha256_file(path),
        "macs": None,
        "macs_reason": "there is no record beside the weights that names their family",
    }
    if not path.with_suffix(RECORD_SUFFIX).exists():
        return record_fields | _shipped(record_fields["sha256"])
    record = read_record(path)
    family = catalogue.spec(record.family)
    record_fields |= {
        "family": family.name,
        "width": record.depth_multiplier,
        "class_names": list(record.class_names),
        "input": {"height": catalogue.SIZE, "width": catalogue.SIZE, **_pixels(family)},
    }
    head = shapes.get("scores/kernel", ())
    if len(head) == 2:
        more = (head[1] - catalogue.CLASSES) * head[0]
        record_fields |= {"macs": family.macs(record.depth_multiplier) + more, "macs_reason": ""}
    return record_fields


def _shipped(digest: str) -> dict[str, Any]:
    for name in catalogue.known():
        for width in catalogue.spec(name).widths:
            if has_shipped(name, width) and shipped_weights(width, name).sha256 == digest:
                return {
                    "family": name,
                    "width": width,
                    "macs": catalogue.macs_of(name, width),
                    "macs_reason": "",
                }
    return {}


def _variant(name: str, cache: Cache) -> dict[str, Any]:
    try:
        variant = Variant.parse(name)
        catalogue.spec(variant.family).width(variant.depth_multiplier)
    except UsageError as error:
        raise UsageError(
            f"there is no model {name!r}",
            why=error.what,
            fix="name a model file, a variant such as mobilenet_v1-0.25-int8, or a family "
            f"({', '.join(catalogue.known())})",
        ) from error
    source = SHIPPED if variant.family == SHIPPED.name else ModelSource(name=variant.family)
    artifact = TfliteChain().stored_artifact(PrepareRequest(variant, 1, {}, source=source), cache)
    if artifact is not None:
        path = artifact.path
        return {"name": name, "path": str(path), **as_record(inspect_model(path))}
    flags = f"--model {variant.family} --precision {variant.precision}"
    if variant.depth_multiplier is not None:
        flags += f" --width {variant.depth_multiplier}"
    raise InputError(
        f"{name} is not prepared yet",
        why="what a variant's file holds is known when there is one",
        fix=f"edgebench models prepare {flags}",
    )
