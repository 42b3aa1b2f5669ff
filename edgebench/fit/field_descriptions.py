"""What the fields of a trial's summary are; those that are metrics stand in the catalogue."""

from __future__ import annotations

from edgebench.fit.figure_descriptions import DESCRIPTIONS as OF_FIGURES
from edgebench.fit.power_descriptions import DESCRIPTIONS as OF_POWER
from edgebench.store.described import Described, Descriptions

DESCRIPTIONS: Descriptions = {
    **OF_FIGURES,
    **OF_POWER,
    "Paced": {
        "period_s": Described("Seconds between two due times.", "experiment.json", unit="s"),
        "passes": Described("Paced passes over all sessions.", "derived by fit"),
        "misses": Described("Passes that were not done when the next was due.", "derived by fit"),
        "worst_lateness_s": Described(
            "The greatest end of a pass against the moment at which the next was due; below 0 when "
            "every pass was in time.",
            "derived by fit",
            unit="s",
        ),
        "by_session": Described(
            "Misses and passes of each session, in order; empty where nothing kept them.", "derived by fit"
        ),
    },
    "Minute": {
        "minute": Described(
            "Minute since the session's first steady pass, from 0; a pass belongs to the one in which "
            "it began.",
            "derived by fit",
        ),
        "median_s": Described(
            "Mean over the sessions of the minute's median image_s.", "derived by fit", unit="s"
        ),
        "n": Described("Passes of that minute over all sessions.", "derived by fit"),
    },
    "Sustained": {
        "minutes": Described(
            "A median a minute, in order; minutes in which no pass began are left out.", "derived by fit"
        ),
        "first_quarter_s": Described(
            "Median image_s of the first quarter of the passes; null below 8 passes a session.",
            "derived by fit",
            unit="s",
        ),
        "last_quarter_s": Described(
            "Median image_s of the last quarter of the passes; null below 8 passes a session.",
            "derived by fit",
            unit="s",
        ),
        "ratio": Described("last_quarter_s over first_quarter_s.", "derived by fit"),
        "slope_per_hour": Described(
            "Theil-Sen slope of image_s on time: seconds of image_s an hour.", "derived by fit", unit="s/h"
        ),
        "suspected": Described("Whether a test for heat found something in any session.", "derived by fit"),
        "because": Described(
            "Which tests for heat found something, in words: quarters, slope, clock, what the board "
            "says of throttling.",
            "derived by fit",
        ),
    },
    "Ended": {
        "by": Described(
            "`sessions`: as many as planned; `rule`: a rule that was asked for was met; `most`: the "
            "most sessions were there first; `time`: the run's time was over; `interrupted`: the run "
            "was, or was killed; `failures`: its sessions failed again and again.",
            "derived by fit",
        ),
        "sessions": Described("Sessions that ended well.", "derived by fit", shape={"minimum": 0}),
        "half_width": Described(
            "Half-width of image_s' 95 % interval: its longer side as a share of the value; null below "
            "three sessions.",
            "derived by fit",
        ),
        "unsettled": Described(
            "Requirements whose verdict is not settled, as profile: name; empty without --decide.",
            "derived by fit",
        ),
        "text": Described("The same in words.", "derived by fit"),
    },
    "TrialSummary": {
        "key": Described("The trial's key.", "experiment.json", shape={"pattern": "^[0-9a-f]{16}$"}),
        "target": Described("Name of the target.", "experiment.json"),
        "variant": Described("Model and precision.", "experiment.json"),
        "depth_multiplier": Described(
            "Width of the network; null for a model of one width.", "experiment.json"
        ),
        "precision": Described("fp32, fp16 or int8; mixed for a file of several.", "experiment.json"),
        "batch": Described("Patches in one call of the runtime.", "experiment.json", shape={"minimum": 1}),
        "status": Described(
            "done: the planned number of ok sessions, or published; partial: some; failed: none ok; "
            "unsupported: the device cannot take it; not_run: no session yet.",
            "sessions",
        ),
        "reason": Described("Why the status is not done; empty when it is.", "sessions"),
        "cold": Described(
            "Means over sessions of import_s, load_s, first_inference_s and first_pass_s.",
            "session.json",
            unit="s",
        ),
        "accuracy_reason": Described("Why accuracy is null; empty when it is not.", "sessions"),
        "accuracy_drop_reason": Described(
            "Why accuracy_drop is null; empty when it is not, and in older results.", "sessions"
        ),
        "power": Described(
            "One entry a meter and rail, one of them marked primary; null without a meter.", "probes.parquet"
        ),
        "power_reason": Described("Why power is null; empty when it is not.", "session.json"),
        "board_doubts": Described(
            "By declared figure, such as mass_g: why it may be that of another machine, in words; "
            "empty where the machine is the declared board, or the figure was declared by itself.",
            "the target's description and the sessions",
        ),
        "image_bytes": Described(
            "Bytes of one picture of the scene as RGB, of which a mission's backlog makes storage_bytes; "
            "null for samples. Absent in older results.",
            "experiment.json",
            unit="byte",
            shape={"minimum": 0},
        ),
        "update_bytes": Described(
            "Bytes of the artifact that is sent to the device: of what the device builds from, where it "
            "builds what it loads. A profile's uplink_bps makes update_s of them. Absent in older results.",
            "experiment.json",
            unit="byte",
            shape={"minimum": 0},
        ),
        "update_companions": Described(
            "Files that are sent with it and whose sizes are not recorded, such as a calibration.",
            "experiment.json",
        ),
        "power_doubts": Described(
            "By kind of declared power: which meter contradicts it, in words; it decides nothing then. Empty "
            "where none does.",
            "probes.parquet",
        ),
        "requested": Described(
            "Whether the command asked by name for this variant, which the device does not take; the "
            "exit code is then 5. Absent in older results.",
            "experiment.json",
        ),
        "image_s_values": Described(
            "image_s of the steady passes, by session, in time order.",
            "passes.parquet",
            unit="s",
            always=True,
        ),
        "infer_s_values": Described(
            "infer_s of the steady passes, by session, in time order.",
            "passes.parquet",
            unit="s",
            always=True,
        ),
        "request_ms_values": None,
        "cold_values": None,
        "power_curves": None,
        "figures_of_values": None,
        "load_s_values": Described("Load time, one value a session.", "session.json", unit="s", always=True),
        "start_s_values": Described(
            "start_s, one value a session that has it; absent in older results.", "session.json", unit="s"
        ),
        "memory_bytes_values": Described(
            "Peak resident memory, one value a session.", "session.json", unit="byte", always=True
        ),
        "workers": Described("The workers that shared the sessions.", "session.json", always=True),
        "paced": Described(
            "Deadlines of paced passes (--period); null when passes ran back to back.", "derived by fit"
        ),
        "sustained": Described(
            "How latency moved over sustained sessions (--sustained); null when sessions had a number "
            "of passes.",
            "derived by fit",
        ),
        "ended": Described(
            "Why no further session of the trial was measured; null where none was to be.", "derived by fit"
        ),
        "interval_confidence": Described(
            "Confidence at which Student's t is taken for the intervals of image_s and infer_s: 0.95, "
            "or more where the interval's own width ended the trial, so that it still covers 95 %.",
            "derived by fit",
        ),
        "cautions": None,
        "failures": Described("What ended sessions early, one sentence each.", "session.json", always=True),
        "timed": Described(
            "What a pass is, in words: the scene and how it is cut, or how many samples; empty where it "
            "was not kept.",
            "experiment.json",
        ),
        "mark": Described(
            "What stands beside every figure of this trial, such as that it was measured on the "
            "processor; empty for most.",
            "experiment.json",
        ),
        "assumed": Described(
            "What was assumed of the model's input, because neither its file nor the user says it, such "
            "as how pixels become numbers; empty where nothing was, and in older results.",
            "experiment.json",
        ),
        "built": Described(
            "What the device made of the artifact on the board, and loaded; null where it loads the "
            "artifact itself: as its first session has it.",
            "agent",
        ),
        "scene_covered": Described(
            "The share of the scene's pixels that lie in at least one patch; null for samples.",
            "experiment.json",
            unit="share of one",
            shape={"maximum": 1, "minimum": 0},
        ),
        "settings": Described(
            "The settings in which the trial's target differs from the others of its sweep, by name: "
            "options (--set) and power_mode; empty for a target that is not swept.",
            "command line or targets file",
        ),
        "concurrency": Described(
            "Inferences that the device has in flight at once, under the target's options.",
            "the device's backend",
            shape={"minimum": 1},
        ),
        "measured_patches": Described(
            "The fewest patches of the scene that a steady pass covered, or a session's steady windows "
            "together, or that its device says it measured.",
            "passes.parquet, windows.parquet, session.json",
            unit="patch",
            shape={"minimum": 1},
        ),
        "untimed_stages": Described(
            "Stages of an image that its passes do not hold, because the host does them before the device is "
            "sent what it times: image_s is without patchify then; where preprocess is among them, there is "
            "no image_s.",
            "session.json",
        ),
        "extrapolated": Described(
            "Whether measured_patches are fewer than the scene's: its times are then scaled up to the scene. "
            "Never of an emulated trial, which has none.",
            "passes.parquet, windows.parquet, session.json",
        ),
        "emulated": Described(
            "Whether no device carried out a session of it: it has then no figure in seconds, W or J, "
            "and every verdict is unknown.",
            "session.json",
        ),
        "published": Described(
            "Of a trial that others published and nobody measured here: its figures with their sources; "
            "empty for a measured trial. Absent in older results.",
            "published figures",
        ),
        "instructions_reason": Described(
            "Of an emulated trial, why it has no instructions; empty where it has.", "session.json"
        ),
    },
    "Published": {
        "quantity": Described("What it is about, such as image_s.", "published figures"),
        "statistic": Described("Which statistic of it.", "published figures"),
        "source": Described("Who published it, and where.", "published figures"),
        "value": Described(
            "The number, in the quantity's base unit; null where none was published.", "published figures"
        ),
        "low": Described(
            "Lower end of its interval, or of a bound; null where nothing bounds it below.",
            "published figures",
        ),
        "high": Described(
            "Upper end of its interval, or of a bound; null where nothing bounds it above.",
            "published figures",
        ),
        "bound": Described(
            "How the figure lies to the one end that is known of it: above or at least low, below or at most "
            "high; empty where it is no bound.",
            "published figures",
        ),
        "k": Described(
            "Of a share: right ones; null for all else.", "published figures", shape={"minimum": 0}
        ),
        "n": Described("Of a share: of how many.", "published figures", shape={"minimum": 0}),
        "words": Described("What the source says of it; empty where it says nothing.", "published figures"),
        "covers": Described("What the number is of, in words.", "published figures"),
        "scaled": Described(
            "By how much the published number was multiplied, to be the whole scene's.", "published figures"
        ),
    },
    "Verdict": {
        "trial": Described("Key of the trial that is judged.", "experiment.json"),
        "profile": Described("Name of the profile.", "profile"),
        "requirement": Described("Name of the requirement.", "profile"),
        "quantity": Described("What is limited, such as image_s.", "profile"),
        "statistic": Described("Which statistic of it: median, p90, p99, max or declared.", "profile"),
        "limit": Described("The limit, in unit; three numbers for a size.", "profile"),
        "unit": Described("Unit of limit, value, low, high and margin.", "profile"),
        "value": Described("The statistic, in unit; null when it is unknown.", "trial"),
        "low": Described("Lower end of its 95 % interval, in unit; null without one.", "trial"),
        "high": Described("Upper end, in unit.", "trial"),
        "verdict": Described(
            "pass, fail, inconclusive (the data cannot decide) or unknown (there is no figure).", "fit"
        ),
        "margin": Described("How far the value keeps from the limit, in unit; negative when failed.", "fit"),
        "reason": Described("Why, in words.", "fit"),
        "averaging_s": Described(
            "Time over which a limit on power means its average; null where it means any moment, and for "
            "all else.",
            "profile",
            unit="s",
        ),
        "scope": Described(
            "Of power and energy: what the meter covers whose figure was judged (chip, module, board, usb "
            "or wall); empty without a meter, and for all else.",
            "trial",
        ),
        "declared": Described(
            "Which kind of declared figure was judged: of power, where no meter decides, and of a boot time "
            "maximum or typical; range of temperatures. Empty for a measured figure, and for all else.",
            "trial",
        ),
        "wanted": Described(
            "Whether it is a wish, which counts neither for the whole profile nor for the exit code.",
            "profile",
        ),
        "bound": Described(
            "How a value that nobody knows lies to its one end: above or at least low, below or at most "
            "high; above and below leave that end out. Empty where value is known, or nothing is.",
            "trial",
        ),
    },
}
