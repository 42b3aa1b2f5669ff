"""What the fields of the records on disk are."""

from __future__ import annotations

from edgebench.store.described import Described, Descriptions
from edgebench.store.session_descriptions import DESCRIPTIONS as OF_SESSIONS
from edgebench.vocabulary.declared_power import KINDS
from edgebench.vocabulary.target import BOARD_FIGURES

DESCRIPTIONS: Descriptions = {
    **OF_SESSIONS,
    "DeclaredPower": {
        "watts": Described("The figure.", "data sheet or label", unit="W"),
        "kind": Described(
            "maximum: it never draws more; typical: what its maker calls typical or nominal, under a load of "
            "the maker's choice.",
            "data sheet or label",
            shape={"enum": list(KINDS)},
        ),
        "source": Described("The data sheet or label that says so.", "the user"),
    },
    "DeclaredBoot": {
        "seconds": Described(
            "From power on until a program can be started.", "data sheet or label", unit="s"
        ),
        "kind": Described(
            "maximum: it never takes longer; typical: whatever else the source says.",
            "data sheet or label",
            shape={"enum": list(KINDS)},
        ),
        "source": Described("What says so.", "the user or boards"),
    },
    "DeclaredTemperature": {
        "low_c": Described("Lowest ambient temperature at which it works.", "data sheet or label", unit="°C"),
        "high_c": Described("Highest one.", "data sheet or label", unit="°C"),
        "source": Described("What says so.", "the user or boards"),
    },
    "SceneRecord": {
        "name": Described("What it is called.", "plan"),
        "sha256": Described("SHA-256 of its raw pixels, in hex.", "plan"),
        "height": Described("Height.", "plan", unit="pixel"),
        "width": Described("Width.", "plan", unit="pixel"),
        "patch": Described(
            "Height of a patch, and its width where there is no patch_width.", "plan", unit="pixel"
        ),
        "rows": Described("Whole patches from top to bottom.", "plan"),
        "columns": Described("Whole patches from left to right.", "plan"),
        "labels": Described(
            "One class a patch, row by row, as an index into class_names; null where unknown.", "plan"
        ),
        "class_names": Described("The classes that the labels index.", "plan"),
        "patch_width": Described(
            "Width of a patch that is not square; null for a square one.", "plan", unit="pixel"
        ),
        "stride": Described(
            "Distance from one patch to the next, both ways; null where they lie side by side.",
            "plan",
            unit="pixel",
        ),
        "kind": Described(
            "picture; or samples, for a model that takes no picture: height and rows are then their "
            "number, and a patch is one sample.",
            "plan",
        ),
    },
    "ImagesRecord": {
        "name": Described("What the set is called.", "plan"),
        "sha256": Described("SHA-256 of its pixels, in hex.", "plan"),
        "n": Described("How many images.", "plan"),
        "labelled": Described("Whether each has a class.", "plan"),
        "class_names": Described("The classes that the labels index.", "plan"),
        "overlapping": Described(
            "Whether crops share pixels, which makes intervals a little too narrow.", "plan"
        ),
    },
    "ImagePathsRecord": {
        "schema_version": Described(
            "Version of this document's layout; a reader refuses a newer one.", "EdgeBench", always=True
        ),
        "sets": Described(
            "By the SHA-256 of a set's pixels, as the images of experiment.json and of its trials have it: "
            "the path of each image, by its index, as the folder or the CSV file of the images names it.",
            "the images' folder",
        ),
    },
    "BoardRecord": {
        "title": Described("What its maker calls it.", "backend"),
        "models": Described(
            "What its device tree or DMI calls it, without a revision; empty where no source tells.",
            "backend",
        ),
    },
    "TargetRecord": {
        "name": Described("What the target is called.", "plan"),
        "device": Described("The backend's name.", "plan"),
        "options": Described("The backend's options, as it validated them.", "command line"),
        "launch": Described(
            "How a worker process is started: python, env, prefix, affinity.", "command line"
        ),
        "power_mode": Described("The device's power mode, as asked for.", "plan"),
        "set_power_mode": Described(
            "Whether the board was put into that mode, its clocks pinned by jetson_clocks; what was in force "
            "stands among each session's facts.",
            "plan",
        ),
        "meters": Described("Meters as kind:address.", "plan"),
        "preferred_meters": Described(
            "Those of the device where no meter was asked for, best first: each session takes the first that "
            "can be read.",
            "backend",
        ),
        "mass_g": Described("Declared mass.", "the target's description", unit="g"),
        "size_mm": Described("Declared outer dimensions.", "the target's description", unit="mm"),
        "declared_power": Described(
            "What it draws as a whole by a data sheet or label, and not by a meter: at most one figure of "
            "each kind.",
            "targets file, flag or boards",
        ),
        "boot_s": Described(
            "Its boot time by a data sheet or label, and not measured; null where nobody declared it.",
            "targets file, flag or boards",
            unit="s",
        ),
        "temperature_c": Described(
            "The ambient temperatures at which it works, by a data sheet or label; null where none "
            "were declared.",
            "targets file, flag or boards",
        ),
        "body": Described(
            "What it is made of, and where the figures of its boards are from; empty where no board was "
            "named.",
            "targets file or flag",
        ),
        "boards": Described(
            "The machines among what it was declared to be made of; held against what the machine calls "
            "itself.",
            "targets file or flag",
        ),
        "from_boards": Described(
            "Which of its declared figures are those of the boards; the others were declared by themselves, "
            "or are missing.",
            "targets file or flag",
            shape={"items": {"enum": list(BOARD_FIGURES)}},
        ),
        "settings": Described(
            "The settings in which the target differs from the others of its sweep, by name: options "
            "and power_mode, which end its name; empty for a target that is not swept.",
            "command line or targets file",
        ),
        "host": Described(
            "The board's address for SSH, user@board[:port]; null for the machine itself. Kept here "
            "alone: no report and no export shows it.",
            "configuration",
        ),
        "port": Described(
            "The port of this machine that it was measured at, such as a serial one's path; no report "
            "and no export has it.",
            "the user",
        ),
        "places": Described(
            "The options that say where its board is, such as an address: their values are kept in the "
            "targets of experiment.json alone.",
            "the device's backend",
        ),
        "revision_of": Described(
            "The planned target that this one is a revision of: its device had become another one, and "
            "its trials were measured anew; null for a planned target.",
            "resumed run",
        ),
        "identity": Described(
            "Of a revision: what its device was found to be, by fact (edgebench/store/identity.py); "
            "empty for a planned target.",
            "board and runtime",
        ),
        "differences": Described(
            "Of a revision: how its device differed from the one that was measured before, each as "
            "`kernel was A, is B`; empty for a planned target, and in results of earlier versions.",
            "resumed run",
        ),
    },
    "TrialRecord": {
        "key": Described(
            "Hash of everything that decides the trial's result: the first 16 hex digits of the SHA-256 "
            "of `inputs`.",
            "plan",
        ),
        "target": Described("Name of the target.", "plan"),
        "variant": Described("Model and precision, such as mobilenet_v1-0.25-int8.", "plan"),
        "depth_multiplier": Described("Width of the network; null for a model of one width.", "plan"),
        "precision": Described("fp32, fp16 or int8; mixed for a file of several.", "plan"),
        "batch": Described("Patches in one call of the runtime.", "plan"),
        "status": Described(
            "Whether it is measured: unsupported where the device does not take it, failed where it "
            "could not be prepared.",
            "preparation",
        ),
        "reason": Described("Why it is not measured; empty when it is.", "preparation"),
        "requested": Described(
            "Whether the command asked by name for this variant, which the device does not take; the "
            "exit code is then 5. Absent in older results.",
            "preparation",
        ),
        "class_names": Described("What the artifact's outputs stand for.", "the artifact"),
        "artifact_bytes": Described(
            "Size of the file that the runtime loads.", "the artifact", unit="byte", shape={"minimum": 0}
        ),
        "artifact_sha256": Described("SHA-256 of that file, in hex.", "the artifact"),
        "inputs": Described("What was hashed into the key.", "plan"),
        "scene": Described("What this trial is timed with; null for the experiment's scene.", "plan"),
        "images": Described(
            "The images of this trial; null for the experiment's, or for none where images_reason says why.",
            "plan",
        ),
        "images_reason": Described("Why this trial has no images; empty when it has.", "plan"),
        "accuracy_reason": Described(
            "Why accuracy means nothing for this model, such as random weights; empty when it does.",
            "the artifact",
        ),
        "assumed": Described(
            "What was assumed of the model's input, because neither its file nor the user says it, such "
            "as how pixels become numbers; empty where nothing was, and in older results.",
            "the artifact",
        ),
        "mark": Described(
            "What stands beside every figure of this trial, such as that it was measured on the "
            "processor; empty for most.",
            "the artifact",
        ),
        "companions": Described(
            "Files that travel with the artifact, such as weights or calibration: SHA-256 by name.",
            "the artifact",
        ),
        "provenance": Described(
            "How the artifact was made: weights, recipe, tools, calibration, and what a compiler said "
            "of it. Empty in older results.",
            "the artifact",
        ),
        "passes": Described(
            "Steady passes, or windows, planned a session of this trial; null for the experiment's.", "plan"
        ),
    },
    "ExperimentRecord": {
        "schema_version": Described(
            "Version of this document's layout; a reader refuses a newer one.", "EdgeBench", always=True
        ),
        "name": Described("What the experiment is called.", "command line"),
        "created_utc": Described(
            "When the plan stood: ISO 8601, UTC, whole seconds.", "host clock", unit="UTC"
        ),
        "edgebench_version": Described("Version that wrote it.", "EdgeBench"),
        "command": Described("The command line, argument by argument.", "command line"),
        "config": Described(
            "Each setting with its value and where it came from.",
            "configuration",
            shape={
                "additionalProperties": {
                    "type": "object",
                    "properties": {
                        "value": {"description": "The resolved value.", "x-source": "configuration"},
                        "origin": {
                            "type": "string",
                            "description": "Flag, --quick, environment, file or default; what is not "
                            "used says so.",
                            "x-source": "configuration",
                        },
                    },
                }
            },
        ),
        "seed": Described("Seed of the sessions' order, and of the choice of images.", "configuration"),
        "sessions": Described(
            "Sessions planned a trial; the most of them where a rule ends a trial.", "configuration"
        ),
        "passes": Described("Steady passes, or windows, planned a session.", "configuration"),
        "target_ci": Described(
            "Half-width of image_s' 95 % interval at which a trial ends, as a share of its value "
            "(--target-ci); null where it was not asked for. `sessions` is then the most.",
            "configuration",
        ),
        "decide": Described(
            "Whether a trial ends when every verdict of `profiles` on it is settled (--decide). "
            "`sessions` is then the most.",
            "configuration",
        ),
        "min_sessions": Described("Sessions before which no rule ends a trial.", "EdgeBench"),
        "max_time_s": Described(
            "No session of the run that began it was to start after so much measuring (--max-time); "
            "null without a limit.",
            "configuration",
            unit="s",
        ),
        "period_s": Described(
            "Seconds between two steady passes (paced mode); null for back to back.",
            "configuration",
            unit="s",
        ),
        "sustained_s": Described(
            "How long the steady passes of a session go on (sustained mode), instead of a number of "
            "them; null for a number.",
            "configuration",
            unit="s",
        ),
        "scene": Described("The picture that is timed.", "the scene's file"),
        "images": Described(
            "The images that accuracy is taken on; null when there are none.", "the images' folder"
        ),
        "images_reason": Described("Why there are no images; empty when there are.", "plan"),
        "targets": Described("What is measured.", "configuration"),
        "trials": Described("The plan.", "plan"),
        "profiles": Described("The profiles that the result is judged by, complete.", "profile files"),
        "host": Described(
            "The machine that ran the harness: system, kernel, processor, memory, versions of packages.",
            "host",
        ),
        "preflight": Described(
            "What `edgebench doctor` found at the start: target (whose it is, in words), targets (the "
            "names of all that share it; absent in older results), level, subject, message, fix.",
            "doctor",
        ),
        "warnings": Described("What a reader should mind, one sentence each.", "plan"),
    },
    "RunRecord": {
        "schema_version": Described(
            "Version of this document's layout; a reader refuses a newer one.", "EdgeBench", always=True
        ),
        "started_utc": Described(
            "When its measuring began: ISO 8601, UTC, whole seconds.", "host clock", unit="UTC"
        ),
        "ended": Described(
            "How it ended: nothing was left to measure, its time was over, or it was interrupted; null "
            "while it goes on, where it was killed, and where it has faults.",
            "the harness",
        ),
        "elapsed_s": Described(
            "How long it measured, preparation not included; null while it goes on.",
            "host's monotonic clock",
            unit="s",
        ),
        "max_time_s": Described(
            "No session started after so much measuring (--max-time); null without a limit.",
            "configuration",
            unit="s",
        ),
        "sessions": Described("Sessions that it measured, failed ones too.", "the harness"),
        "settled": Described(
            "Keys of the trials that a rule (--target-ci, --decide) ended; null while it goes on, where "
            "it was killed, and in results of earlier versions.",
            "the harness",
        ),
        "faults": Described(
            "Tracebacks of the errors that ended the measuring on one host each and that EdgeBench does "
            "not know, for whoever mends them.",
            "the harness",
        ),
        "verdicts": Described(
            "How the run's profiles judged its trials at its end: profile -> pass, fail, inconclusive or "
            "unknown -> how many trials; null while it goes on, where it was killed, and in results of "
            "earlier versions.",
            "fit",
        ),
    },
}
