"""What the fields of the answers are that stand beside the verdicts."""

from __future__ import annotations

from edgebench.store.described import Described, Descriptions

_PROFILE = Described("Name of the profile.", "profile")
_REQUIREMENT = Described("Name of the requirement.", "profile")
_QUANTITY = Described("What is limited, such as image_s.", "profile")
_STATISTIC = Described("Which statistic of it.", "profile")
_TRIAL = Described("Key of the trial.", "experiment.json")
_TARGET = Described("Name of the target, without the settings of a sweep.", "experiment.json")

DESCRIPTIONS: Descriptions = {
    "Decision": {
        "profile": _PROFILE,
        "outcome": Described(
            "satisfied: some trial satisfies the profile; open: none does, and some misses no requirement; "
            "missed: every one misses one; unmeasured: none has a session.",
            "fit",
        ),
        "passing": Described("Keys of the trials that satisfy it.", "fit", always=True),
        "failing": Described("How many trials miss a requirement.", "fit", shape={"minimum": 0}),
        "trials": Described("How many trials were judged.", "fit", shape={"minimum": 0}),
        "trial": Described(
            "Key of the quickest that satisfies it, of the open one that lacks least, or of the nearest "
            "miss; null where none was measured.",
            "fit",
            always=True,
        ),
        "level": Described(
            "Of those that satisfy it the others whose interval of the same latency reaches the quickest's.",
            "fit",
            always=True,
        ),
        "lightest": Described(
            "Keys of those that satisfy it and whose declared mass is the least; empty without a mass.",
            "fit",
            always=True,
        ),
        "relax": Described(
            "Of the nearest miss the limits that would have to be looser, all of them.", "fit", always=True
        ),
        "open": Described(
            "What is open of the trials that miss nothing, where none satisfies it.", "fit", always=True
        ),
    },
    "Open": {
        "requirement": _REQUIREMENT,
        "quantity": _QUANTITY,
        "statistic": _STATISTIC,
        "verdict": Described("unknown or inconclusive.", "fit"),
        "by": Described(
            "What would settle it: an option, or how many sessions or images; empty where nothing is "
            "known to.",
            "fit",
        ),
        "trials": Described("Keys of the trials of which it is open, and which that would settle.", "fit"),
    },
    "Nearest": {
        "target": _TARGET,
        "profile": _PROFILE,
        "passing": Described(
            "Keys of its trials that pass all that the profile requires; empty where none does.",
            "fit",
            always=True,
        ),
        "trial": Described(
            "Key of the trial that takes least where none passes: the fewest figures to measure, then the "
            "fewest limits to relax, then the smallest share by which the loosest is; the limits first where "
            "every trial misses one; null where some pass.",
            "fit",
            always=True,
        ),
        "relax": Described(
            "The limits that have to be looser for that trial, all of them.", "fit", always=True
        ),
        "measure": Described(
            "What has to be measured of it besides, because no limit lets it pass.", "fit", always=True
        ),
        "undecided": Described(
            "Trials that miss no limit as it is, where none passes, and what each lacks.", "fit", always=True
        ),
    },
    "RelaxedLimit": {
        "requirement": _REQUIREMENT,
        "quantity": _QUANTITY,
        "statistic": _STATISTIC,
        "averaging_s": Described(
            "Time over which a limit on power means its average; null for all else.", "profile", unit="s"
        ),
        "unit": Described("Unit of limit, to and by.", "profile"),
        "limit": Described("The limit as it is; three numbers for a size.", "profile"),
        "to": Described(
            "The nearest limit under which the trial passes: the bound of its figure that a pass needs.",
            "fit",
        ),
        "by": Described(
            "How much looser that is, above 0; of a size, of the side that takes most.",
            "fit",
            shape={"minimum": 0},
        ),
        "share": Described(
            "by over limit, of a temperature over its distance from absolute zero; of a size, the greatest "
            "of its sides.",
            "fit",
            shape={"minimum": 0},
        ),
        "verdict": Described("What the trial got under the limit as it is.", "fit"),
    },
    "ToMeasure": {
        "requirement": _REQUIREMENT,
        "quantity": _QUANTITY,
        "statistic": _STATISTIC,
        "reason": Described("Why what was measured cannot pass it.", "fit"),
    },
    "Undecided": {
        "trial": _TRIAL,
        "measure": Described("The requirements that it does not pass, and why.", "fit"),
    },
    "Front": {
        "profile": Described("Name of the profile; empty for quantities of the command line.", "profile"),
        "axes": Described("The quantities, in order.", "profile or command line"),
        "trials": Described("The trials that have all figures.", "fit"),
        "lacking": Described("Figures that are missing, each with its trial and the reason.", "fit"),
    },
    "Axis": {
        "quantity": Described("What it is, such as image_s.", "profile or command line"),
        "statistic": _STATISTIC,
        "averaging_s": Described(
            "Time over which power is averaged; null for all else.", "profile", unit="s"
        ),
        "unit": Described("Unit of its figures.", "profile"),
        "better": Described("Which values are better.", "the catalogue of metrics"),
    },
    "AxisFigure": {
        "quantity": Described("What it is, such as image_s.", "profile or command line"),
        "value": Described("The statistic, in the axis' unit.", "trial"),
        "low": Described("Lower end of its interval; null without one.", "trial"),
        "high": Described("Upper end; null without one.", "trial"),
        "basis": Described(
            "Of power and energy the meter's scope, or how it was declared; figures of different bases are "
            "not held against each other. Empty for all else.",
            "trial",
        ),
    },
    "FrontTrial": {
        "trial": _TRIAL,
        "standing": Described(
            "front: no other trial is at least as good by every value and better by one; dominated: one is, "
            "and no interval of it reaches beyond this one's; overlapping: one is by value, and it may not "
            "be so, since intervals overlap or are missing.",
            "fit",
        ),
        "figures": Described("One entry an axis, in their order.", "trial"),
        "by": Described(
            "Key of a trial that is better by value, of several the one with the fewest overlaps; null on "
            "the front.",
            "fit",
            always=True,
        ),
        "overlaps": Described(
            "Quantities in which the intervals of the two overlap or are missing.", "fit", always=True
        ),
    },
    "LacksFigure": {
        "trial": _TRIAL,
        "quantity": Described("What is missing.", "profile or command line"),
        "reason": Described("Why.", "trial"),
    },
    "Ranking": {
        "profile": _PROFILE,
        "weights": Described(
            "The weights of the requirements that count, by name, as shares of one.", "profile"
        ),
        "left_out": Described("Requirements that no trial has a margin of: they count for nothing.", "fit"),
        "trials": Described("The trials, best first, then those without a score.", "fit"),
        "change": Described(
            "The smallest change of one weight, as a share of it, that changes which trial is first; null "
            "where none does.",
            "fit",
        ),
    },
    "Ranked": {
        "trial": _TRIAL,
        "verdict": Described("What it comes to against the profile as a whole.", "fit"),
        "rank": Described("From 1 on, the same for equal scores; null without a score.", "fit"),
        "score": Described(
            "Weighted mean of the margins, -1 to 1; null where a figure is missing that others have.", "fit"
        ),
        "margins": Described(
            "By requirement what is left to the limit as a share of it, from -1 to 1: (limit - value) / "
            "limit, or the opposite of what is to be at least.",
            "fit",
        ),
        "first_share": Described(
            "Share of random weights around the profile's (Dirichlet, with a fixed seed) under which it is "
            "first, alone or with others; null without a score.",
            "fit",
        ),
        "reason": Described("Why it has no score; empty where it has.", "fit", always=True),
    },
    "LeftOut": {
        "requirement": _REQUIREMENT,
        "reason": Described("Why no trial has a margin of it, by the first of them.", "fit"),
    },
    "WeightChange": {
        "requirement": Described("Name of the requirement whose weight changes.", "profile"),
        "weight": Described("Its weight, as the profile has it.", "profile"),
        "to": Described("The weight at which another trial is level with the first.", "fit"),
        "share": Described("How far that is, over the weight.", "fit", shape={"minimum": 0}),
        "first": Described("Key of the trial that is first.", "fit"),
        "then": Described("Key of the trial that comes to be first beyond it.", "fit"),
    },
    "ExcludedBy": {
        "profile": _PROFILE,
        "requirement": _REQUIREMENT,
        "quantity": _QUANTITY,
        "wanted": Described("Whether it is a wish, which excludes nothing.", "profile"),
        "targets": Described("One entry a target, in the same order in every row.", "fit"),
    },
    "Exclusion": {
        "target": _TARGET,
        "excluded": Described("Whether every trial of the target fails it.", "fit"),
        "fails": Described("How many of its trials fail it.", "fit", shape={"minimum": 0}),
        "trials": Described(
            "How many trials it has, without those that it does not take.", "fit", shape={"minimum": 0}
        ),
    },
}
