"""What builder and runtime do, as lines of JSON for tests."""

import json
import os

from ._shape import VERSION


def note(event, **more):
    """A line in STANDIN_LOG, for tests: what a build or an engine has done."""
    path = os.environ.get("STANDIN_LOG")
    if path:
        with open(path, "a") as file:
            file.write(
                json.dumps(dict(more, event=event, pid=os.getpid(), version=VERSION), sort_keys=True) + "\n"
            )
