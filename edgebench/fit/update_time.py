"""How long a new artifact takes to reach the device, over the link that a profile states."""

from __future__ import annotations

from edgebench.fit.figure import Certainty, Figure
from edgebench.fit.metric import Question
from edgebench.fit.trial_summary import TrialSummary

BITS = 8


def update_figure(summary: TrialSummary, question: Question, certainty: Certainty) -> Figure:
    """The artifact's bytes over the profile's uplink, in s, without whatever a protocol adds.

    A bound from below where files travel with it whose sizes are not recorded.
    """
    if question.uplink_bps is None:
        return Figure(reason="the profile states no uplink: add uplink_bps, such as '9.6 kbit/s'")
    if summary.update_bytes is None:
        return Figure(reason="the artifact's size was not recorded")
    seconds = BITS * summary.update_bytes / question.uplink_bps
    what = f"the artifact's {summary.update_bytes} bytes over {question.uplink_bps:g} bit/s"
    if summary.update_companions:
        others = ", ".join(summary.update_companions)
        reason = f"with it travel files whose sizes were not recorded: {others}"
        return Figure(seconds, low=seconds, reason=reason, what=what, lasting=True)
    return Figure(seconds, exact=True, what=what)
