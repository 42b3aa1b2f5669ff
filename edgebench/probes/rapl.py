"""RAPL: the processor's own energy counters under /sys/class/powercap.

Source: the kernel's powercap interface: `intel-rapl:N[:M]/{name,energy_uj,max_energy_range_uj}`, on Intel
and on AMD from Zen. A counter is in microjoules and wraps at `max_energy_range_uj`. A step that makes more
than 2,000 W is no wrap: the counter was set. Since kernel 5.10 only root may read it. It covers the chip, and
nothing that hangs on USB.
"""

import glob
import os
from typing import Dict, List, NamedTuple, Tuple

from .basics import ADDRESS, NAN, EvenProbe, ProbeDenied, ProbeMissing, now_ns

PLACE = "board"
TREE = "/sys/class/powercap"
RATE_HZ = 50.0
MOST_W = 2000.0

Domain = NamedTuple("Domain", [("name", str), ("energy", str), ("wraps_at_uj", int)])


class RaplProbe(EvenProbe):
    """Mean power in W of each domain over every sampling interval, stamped at the interval's end."""

    def __init__(self, address: str, domains: List[Domain]) -> None:
        info = {
            "kind": "rapl",
            "address": address,
            "rate_hz": RATE_HZ,
            "averaging_ms": 1e3 / RATE_HZ,  # a sample is the mean since the one before it
            "resolution": "1 uJ counters, refreshed about every millisecond",
            "scope": "chip",
            "channels": [{"name": domain.name, "quantity": "power", "unit": "W"} for domain in domains],
        }
        super(RaplProbe, self).__init__(info)
        self._domains = domains
        self.port = domains[0].energy
        self._last_ns = 0
        self._last_uj: List[int] = []

    def start(self) -> None:
        """Take the first reading; the first sample follows one interval later."""
        self._last_uj = [_read_uj(domain.energy) for domain in self._domains]
        self._last_ns = now_ns()

    def _sample(self) -> Tuple[int, Dict[str, float]]:
        energies = [_read_uj(domain.energy) for domain in self._domains]
        now = now_ns()
        powers = power_w(self._domains, self._last_uj, energies, now - self._last_ns)
        for domain, before, after in zip(self._domains, self._last_uj, energies):
            if powers[domain.name] != powers[domain.name]:
                words = "{}: the counter went from {} to {} uJ, more than {:g} W"
                self.rejected.append(words.format(domain.name, before, after, MOST_W))
        self._last_uj, self._last_ns = energies, now
        return now, powers


def power_w(
    domains: List[Domain], before_uj: List[int], after_uj: List[int], elapsed_ns: int
) -> Dict[str, float]:
    """Mean power of each domain between two readings.

    A counter that went back has wrapped once. Above MOST_W it was set instead: the power is not a number.
    """
    powers = {}
    for domain, before, after in zip(domains, before_uj, after_uj):
        used = after - before if after >= before else after - before + domain.wraps_at_uj
        watts = used * 1e3 / elapsed_ns
        powers[domain.name] = watts if 0 <= watts <= MOST_W else NAN
    return powers


def open_probe(address: str) -> RaplProbe:
    """The probe of `rapl:` (every domain), `rapl:package` (those so named) or `rapl:/another/tree`."""
    tree = address if address.startswith("/") else TREE
    wanted = "" if address.startswith("/") else address
    folders = sorted(glob.glob(os.path.join(glob.escape(tree), "intel-rapl:*")))
    if not folders:
        raise ProbeMissing(
            "{} has no intel-rapl".format(tree),
            "use another meter; virtual machines and most ARM boards have none",
        )
    domains = [_domain(tree, folder) for folder in folders]
    chosen = [domain for domain in domains if wanted in domain.name]
    if not chosen:
        names = ", ".join(domain.name for domain in domains)
        raise ProbeMissing(
            "no RAPL domain is named {!r}".format(wanted), "choose among: {}".format(names), ADDRESS
        )
    return RaplProbe(address, chosen)


def _domain(tree: str, folder: str) -> Domain:
    energy = os.path.join(folder, "energy_uj")
    try:
        name = _name(tree, folder)
        _read_uj(energy)
        with open(os.path.join(folder, "max_energy_range_uj")) as file:
            wraps_at = int(file.read())
    except PermissionError:
        raise ProbeDenied(
            "{} may be read by root only".format(energy),
            "sudo chmod a+r {}/intel-rapl:*/energy_uj (lasts until the next start)".format(tree),
            port=energy,
        ) from None
    except (OSError, ValueError) as error:
        raise ProbeMissing("{} cannot be read: {}".format(folder, error), "use another meter") from None
    return Domain(name, energy, wraps_at)


def _name(tree: str, folder: str) -> str:
    """`package-0`, or `package-0/core` for a part of it: two packages both have a core."""
    parts = os.path.basename(folder).split(":")
    names = []
    for length in range(2, len(parts) + 1):
        with open(os.path.join(tree, ":".join(parts[:length]), "name")) as file:
            names.append(file.read(256).strip())
    return "/".join(names)


def _read_uj(path: str) -> int:
    with open(path) as file:
        return int(file.read())
