"""What few sessions cannot show."""

import pytest

from edgebench.report.sections import unseen_modes
from tests.judge.trials import trial


@pytest.mark.parametrize(("sessions", "share"), [(3, "37 %"), (5, "17 %"), (8, "6 %")])
def test_one_sentence_with_the_share_of_results(sessions, share):
    text = unseen_modes([trial(((1.0,),) * 20), trial(((1.0,),) * sessions)])
    assert text.startswith(f"{sessions} sessions can miss slow starts: ")
    assert f"{share} of runs do not show it" in text


@pytest.mark.parametrize("sessions", [0, 1, 2, 10])
def test_nothing_where_there_is_no_interval_or_enough_of_them(sessions):
    assert unseen_modes([trial(((1.0,),) * sessions or None)]) == ""
