"""What Jetson developer kits and modules measure, from NVIDIA; no source at hand gives the mass of one."""

from __future__ import annotations

from collections.abc import Mapping

from edgebench.vocabulary.target import Body

_SIDES = "NVIDIA's data sheet of the module gives two sides ({}) and neither height nor mass"
_SO_DIMM = _SIDES.format("69.6 x 45 mm")
_LARGE = _SIDES.format("100 x 87 mm")
_PAGE = "NVIDIA's page of the developer kit, as public documents repeat it; none gives a mass"

# As device trees say it, of mainline Linux and of L4T; a module without its kit says what its carrier's does.
_NANO = ("NVIDIA Jetson Nano Developer Kit",)
_TX2 = ("NVIDIA Jetson TX2 Developer Kit", "quill")
_XAVIER_NX = ("NVIDIA Jetson Xavier NX Developer Kit",)
_AGX_XAVIER = ("NVIDIA Jetson AGX Xavier Developer Kit", "Jetson-AGX")
_ORIN_NANO = (
    "NVIDIA Jetson Orin Nano Developer Kit",
    "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit",
    "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super",
    "NVIDIA Orin Nano Developer Kit",
)
_ORIN_NX = (
    "NVIDIA Jetson Orin NX Engineering Reference Developer Kit",
    "NVIDIA Jetson Orin NX Engineering Reference Developer Kit Super",
    "NVIDIA Orin NX Developer Kit",
)
_AGX_ORIN = ("NVIDIA Jetson AGX Orin Developer Kit",)

BODIES: Mapping[str, Body] = {
    "jetson-nano-devkit": Body("Jetson Nano Developer Kit", None, (100.0, 80.0, 29.0), _PAGE, models=_NANO),
    "jetson-tx2-devkit": Body("Jetson TX2 Developer Kit", None, None, "no source was at hand", models=_TX2),
    "jetson-xavier-nx-devkit": Body(
        "Jetson Xavier NX Developer Kit", None, (103.0, 90.5, 34.66), _PAGE, models=_XAVIER_NX
    ),
    "jetson-agx-xavier-devkit": Body(
        "Jetson AGX Xavier Developer Kit", None, (105.0, 105.0, 65.0), _PAGE, models=_AGX_XAVIER
    ),
    "jetson-orin-nano-devkit": Body(
        "Jetson Orin Nano Developer Kit", None, (100.0, 79.0, 21.0), _PAGE, models=_ORIN_NANO
    ),
    "jetson-agx-orin-devkit": Body(
        "Jetson AGX Orin Developer Kit", None, (110.0, 110.0, 71.65), _PAGE, models=_AGX_ORIN
    ),
    "jetson-nano": Body("Jetson Nano module", None, None, _SO_DIMM, models=_NANO),
    "jetson-tx2": Body("Jetson TX2 module", None, None, _SIDES.format("87 x 50 mm"), models=_TX2),
    "jetson-xavier-nx": Body("Jetson Xavier NX module", None, None, _SO_DIMM, models=_XAVIER_NX),
    "jetson-agx-xavier": Body("Jetson AGX Xavier module", None, None, _LARGE, models=_AGX_XAVIER),
    "jetson-orin-nano": Body("Jetson Orin Nano module", None, None, _SO_DIMM, models=_ORIN_NANO),
    "jetson-orin-nx": Body("Jetson Orin NX module", None, None, _SO_DIMM, models=_ORIN_NX),
    "jetson-agx-orin": Body("Jetson AGX Orin module", None, None, _LARGE, models=_AGX_ORIN),
}
"""By the names that `--board` takes."""
