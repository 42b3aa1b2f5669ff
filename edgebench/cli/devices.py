"""`edgebench devices`: what can be measured here."""

from __future__ import annotations

from edgebench.cli.common import JsonOption, stdout


def devices(json_: JsonOption = False) -> None:
    """List the devices, their precisions and options, and the meters."""
    from edgebench import registry
    from edgebench.report.listings import DeviceRow, print_devices

    rows = []
    for name in registry.names("edgebench.backends"):
        backend = registry.backend(name)
        if backend.for_tests:
            continue
        options = backend.options_model.model_json_schema().get("properties", {})
        rows.append(
            DeviceRow(
                name,
                backend.description,
                backend.precisions,
                options,
                default_batch=backend.default_batch,
                most_batch=backend.most_batch,
                takes_host=backend.takes_host,
                takes_port=backend.takes_port,
                meters=backend.meters,
            )
        )
    meters = {
        name: registry.probe_description(name)
        for name in registry.names("edgebench.probes")
        if not registry.is_monitor(name)
    }
    print_devices(stdout(), rows, meters, as_json=json_)
