"""Options of OpenVINO and of the stick that cannot be: refused before anything runs, with what would do."""

from __future__ import annotations

from typing import Any

import pytest

from edgebench import registry
from edgebench.errors import EXIT_USAGE, UsageError
from tests.fakes import make_targets


@pytest.mark.parametrize(
    ("device", "setting", "what", "fix"),
    [
        ("openvino", "requests=0", "requests=0: '0' is not at least 1", "at least 1"),
        ("openvino", "requests=1000", "requests=1000: '1000' is not at most 64", "at most 64"),
        ("ncs2", "requests=0", "requests=0: '0' is not at least 1", "at least 1"),
        ("openvino", "device=FPGA", "'FPGA'", "write CPU, GPU, NPU, AUTO"),
        ("openvino", "device=MYRIAD", "'MYRIAD'", "write CPU, GPU, NPU, AUTO"),
        ("ncs2", "device=GPU", "'GPU'", "write MYRIAD"),
        ("openvino", "hint=fast", "'fast' is not known", "latency"),
        ("openvino", "execution_precision=int4", "'int4' is not known", "bf16"),
        ("ncs2", "threads=2", "threads", "requests"),
    ],
)
@pytest.mark.attack(
    "options of OpenVINO that cannot be, such as 0 or 1,000 requests: a usage error with what would do"
)
def test_options_that_cannot_be(device, setting, what, fix):
    with pytest.raises(UsageError) as caught:
        make_targets({device: registry.backend(device)}, [setting], ())
    assert caught.value.exit_code == EXIT_USAGE
    assert what in caught.value.what
    assert fix in caught.value.fix


def test_requests_are_swept_and_are_the_concurrency():
    backend = registry.backend("openvino")
    targets = make_targets({"openvino": backend}, ["requests=1", "requests=4"], ())
    assert [backend.concurrency(target.options) for target in targets] == [1, 4]


def test_the_stick_has_four_requests_as_in_the_study():
    backend: Any = registry.backend("ncs2")
    [target] = make_targets({"ncs2": backend}, [], ())
    assert backend.concurrency(target.options) == 4


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_another_precision_of_the_stick_is_refused_with_what_to_ask_for(precision):
    backend = registry.backend("ncs2")
    assert precision not in backend.precisions
    assert "--precision fp16" in backend.precision_reasons[precision]
