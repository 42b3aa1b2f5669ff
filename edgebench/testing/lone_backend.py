"""A process that does nothing but look at one backend: what that loads, and what it declares.

Run as `python -m edgebench.testing.lone_backend JSON`, with `backend` (a name, or `module:class`), `options`,
`variants` and `batch`; prints JSON: `modules`, the top-level modules that are then loaded, and `hashes`, of
what `prepare_inputs` says of each variant.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from typing import Any


def look(asked: dict[str, Any]) -> dict[str, Any]:
    """What there is to say of one backend in this process."""
    from edgebench import registry
    from edgebench.contract import Backend
    from edgebench.prepare.cache import canonical_hash
    from edgebench.records.model import PrepareRequest
    from edgebench.records.values import Variant

    module, _, name = asked["backend"].partition(":")
    backend: Backend = getattr(import_module(module), name)() if name else registry.backend(module)
    hashes = [
        canonical_hash(
            backend.prepare_inputs(PrepareRequest(Variant.parse(variant), asked["batch"], asked["options"]))
        )
        for variant in asked["variants"]
    ]
    return {"modules": sorted({name.partition(".")[0] for name in sys.modules}), "hashes": hashes}


if __name__ == "__main__":
    # What a backend prints while it is imported must not stand before the answer.
    answer = json.dumps(look(json.loads(sys.argv[1])))
    sys.stdout.write(f"\n{answer}\n")
