"""The template's runner on the oldest Python, as a Jetson Nano has it."""

import pytest

from edgebench.records.values import Variant
from tests.link.old_python import python36
from tests.testing import template
from tests.testing.complaints import backend_kit, judge


@pytest.mark.parametrize("test", ["test_golden_scores", "test_a_pass_over_a_scene", "test_batch_edges"])
def test_the_template_meets_the_contract_there(edgebench_cache, test):
    python, why = python36()
    if python is None:
        pytest.skip(why)
    kit = backend_kit(template.backend(), edgebench_cache, python=python)
    try:
        judge(test, kit)
        with kit.session(kit.artifact(Variant(0.25, "int8"))) as session:
            assert session.facts().runtime["version"] == "1.19.5"  # of numpy, which is its runtime
        assert kit.device.describe()["python"].startswith("3.6")
    finally:
        kit.close()
