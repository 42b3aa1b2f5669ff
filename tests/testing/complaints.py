"""What one test of the contract says of a backend."""

from __future__ import annotations

import inspect

import pytest

from edgebench.testing import BackendContract
from edgebench.testing.backend_kit import BackendKit, BackendSubject


def complaint(test, backend, cache, tmp_path, **subject):
    """What one test of the contract says of a backend; nothing where it is content."""
    kit = BackendKit(BackendSubject(**{"backend": backend, "options": {}, "batch": 3, **subject}), cache)
    if test != "test_golden_scores":
        kit.golden_faults = ()  # looked at once a class, and of no interest to the other tests
    method = getattr(BackendContract(), test)
    fixtures = {"edgebench_backend": kit, "record_property": lambda name, value: None, "tmp_path": tmp_path}
    wanted = inspect.signature(method).parameters
    try:
        method(**{name: value for name, value in fixtures.items() if name in wanted})
    except pytest.fail.Exception as failure:
        return str(failure)
    finally:
        kit.close()
    return ""
