"""What a pass's stages may be called."""

import pytest

from edgebench.records.stored import PACED_COLUMNS
from edgebench.results.parquet import TABLE_COLUMNS, is_stage_column
from edgebench.session_stages import TAKEN, fault_of_stages

STAGES = ("patchify", "preprocess", "infer")


def test_every_column_of_a_pass_is_taken():
    own = {name.removesuffix("_ns") for name in (*TABLE_COLUMNS["passes"], *PACED_COLUMNS) if "_ns" in name}
    assert own - {"infer"} == TAKEN  # which is a stage of its own


@pytest.mark.parametrize("name", ["NMS", "device", "x", "post_2", "a" * 41])
def test_legal_names_become_columns(name):
    assert not fault_of_stages((*STAGES, name))
    assert is_stage_column("passes", f"{name}_ns")
    assert is_stage_column("batches", f"{name}_start_ns")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        *((name, "column that every pass has") for name in sorted(TAKEN)),
        ("Image", "column that every pass has"),
        ("infer", "two stages"),
        ("INFER", "two stages"),
        ("", "a letter, then"),
        ("2nd", "a letter, then"),
        ("non max", "a letter, then"),
        ("größe", "a letter, then"),
        ("a" * 42, "a letter, then"),
        ("x\n", "a letter, then"),
    ],
)
def test_other_names_are_refused_by_name(name, why):
    fault = fault_of_stages((*STAGES, name))
    assert why in fault
    assert repr(name)[:50] in fault
