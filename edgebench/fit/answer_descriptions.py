"""What the fields of the answers are that stand beside the verdicts."""

from __future__ import annotations

from edgebench.store.described import Described, Descriptions

_PROFILE = Described("Name of the profile.", "profile")
_REQUIREMENT = Described("Name of the requirement.", "profile")
_QUANTITY = Described("What is limited, such as image_s.", "profile")
_STATISTIC = Described("Which statistic of it.", "profile")
_TARGET = Described("Name of the target, without the settings of a sweep.", "experiment.json")

DESCRIPTIONS: Descriptions = {
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
            "fewest limits to relax, then the smallest share by which the loosest is; null where some pass.",
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
        "trial": Described("Key of the trial.", "experiment.json"),
        "measure": Described("The requirements that it does not pass, and why.", "fit"),
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
