"""An experiment's record without names and values of launches: as it is written, and as exports show it."""

from __future__ import annotations

from typing import Any

from edgebench.store.records import ExperimentRecord, SessionRecord, TargetRecord
from edgebench.store.redaction import Apart
from edgebench.vocabulary.launch_secrets import MASK, masked_inputs, masked_launch


def written(record: ExperimentRecord, apart: Apart) -> ExperimentRecord:
    """What goes into experiment.json: names, and values of launches, stand in its targets only."""
    return record.model_copy(update=_redacted(record, apart))


def exported(record: ExperimentRecord) -> ExperimentRecord:
    """What a report or an export may show: the targets without their hosts and launches' values, too."""
    apart = Apart.of(
        (target.host for target in record.targets),
        launches=[target.launch for target in record.targets],
        ports=(target.port for target in record.targets),
    )
    targets = tuple(_target(target, apart) for target in record.targets)
    return record.model_copy(update={**_redacted(record, apart), "targets": targets})


def session_written(record: SessionRecord, apart: Apart) -> SessionRecord:
    """A session's record whose messages, facts and reasons name no host, no user and no launch's value."""
    failure = record.failure
    if failure is not None:
        update = {name: apart.text(getattr(failure, name)) for name in ("what", "why", "fix", "stderr_tail")}
        failure = failure.model_copy(update=update)
    return record.model_copy(
        update={
            "failure": failure,
            "device": apart.facts(record.device),
            "runtime": apart.runtime(record.runtime),
            "probe_reasons": apart.texts(record.probe_reasons),
            "monitor_reasons": apart.texts(record.monitor_reasons),
            "warnings": apart.texts(record.warnings),
        }
    )


def _redacted(record: ExperimentRecord, apart: Apart) -> dict[str, Any]:
    return {
        "command": apart.command(record.command),
        "config": {name: _setting(name, setting, apart) for name, setting in record.config.items()},
        "profiles": apart.paths(record.profiles),
        "preflight": apart.texts(record.preflight),
        "warnings": apart.texts(record.warnings),
        # The key was hashed from the inputs as they were; here their paths name nobody.
        "trials": tuple(
            trial.model_copy(
                update={
                    "reason": apart.text(trial.reason),
                    "inputs": apart.paths(masked_inputs(trial.inputs)),
                    "provenance": apart.paths(dict(trial.provenance)),
                }
            )
            for trial in record.trials
        ),
    }


def _setting(name: str, setting: dict[str, Any], apart: Apart) -> dict[str, Any]:
    if name in ("host", "port") and setting.get("value") is not None:
        return {**setting, "value": MASK}
    return {key: apart.paths(value) for key, value in setting.items()}


def _target(target: TargetRecord, apart: Apart) -> TargetRecord:
    return target.model_copy(
        update={
            "host": None,
            "port": None,
            "options": apart.paths(target.options),
            "launch": apart.paths(masked_launch(target.launch)),
            "meters": apart.paths(target.meters),
        }
    )
