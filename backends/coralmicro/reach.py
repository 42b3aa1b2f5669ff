"""Whether this machine can have a way to a board: the network that a board's USB cable brings."""

from __future__ import annotations

import ipaddress
import socket

import psutil

from .board_address import BoardAddress

USUAL_HOST = "10.10.10.1"
"""Of every board over USB, unless it was flashed with another (flashtool's --usb_ip_address)."""


def missing_interface(address: BoardAddress) -> str:
    """Why no board can be at its own USB address: what lies there else is not a board, and is left alone.

    "" where there may be one, and of every other address.
    """
    if address.host != USUAL_HOST or _has_interface_to(USUAL_HOST):
        return ""
    return f"this machine has no network interface in the board's network, that of {USUAL_HOST}"


def _has_interface_to(host: str) -> bool:
    for addresses in psutil.net_if_addrs().values():
        for own in addresses:
            if own.family == socket.AF_INET and own.netmask:
                network = ipaddress.IPv4Network(f"{own.address}/{own.netmask}", strict=False)
                if ipaddress.IPv4Address(host) in network:
                    return True
    return False
