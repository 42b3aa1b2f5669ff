"""What Google's Edge TPU boards weigh and measure, from their data sheets."""

from __future__ import annotations

from collections.abc import Mapping

from edgebench.vocabulary.target import Body

_PAGE = "coral.ai/products"
_M2 = "M.2 Accelerator datasheet, coral.ai/docs/m2/datasheet"

BODIES: Mapping[str, Body] = {
    "coral-usb": Body(
        "Coral USB Accelerator", None, (65.0, 30.0, 8.0), f"{_PAGE}/accelerator", plugged_in=True
    ),
    "coral-dev-board": Body(
        "Coral Dev Board",
        None,
        (88.0, 60.0, 24.0),
        f"{_PAGE}/dev-board",
        # Mendel's own kernel, and Linux' imx8mq-phanbell.dts.
        models=("Freescale i.MX8MQ Phanbell", "Google i.MX8MQ Phanbell"),
    ),
    "coral-dev-board-mini": Body("Coral Dev Board Mini", None, (64.0, 48.0, 14.6), f"{_PAGE}/dev-board-mini"),
    "coral-m2-ae": Body("Coral M.2 Accelerator A+E key", 3.1, (30.0, 22.0, 2.3), _M2, plugged_in=True),
    "coral-m2-bm": Body("Coral M.2 Accelerator B+M key", 5.8, (80.0, 22.0, 2.3), _M2, plugged_in=True),
    "coral-mini-pcie": Body(
        "Coral Mini PCIe Accelerator", None, None, "no data sheet was at hand", plugged_in=True
    ),
}
"""By the names that `--board` takes; a stick or a card has a host as well, with a --board of its own."""
