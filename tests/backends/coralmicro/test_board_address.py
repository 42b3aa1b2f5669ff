"""Where a board is, and what is refused as that."""

import importlib

import pytest

from edgebench.errors import UsageError

board_address = importlib.import_module("edgebench.backends.coralmicro.board_address").board_address


@pytest.mark.parametrize(
    ("text", "host", "port", "authority"),
    [
        ("10.10.10.1", "10.10.10.1", 80, "10.10.10.1"),
        ("10.10.10.1:80", "10.10.10.1", 80, "10.10.10.1"),
        ("127.0.0.1:8080", "127.0.0.1", 8080, "127.0.0.1:8080"),
        ("coral-micro.local:65535", "coral-micro.local", 65535, "coral-micro.local:65535"),
        ("[fe80::1]:81", "fe80::1", 81, "[fe80::1]:81"),
        ("[::ffff:10.0.0.1]", "::ffff:10.0.0.1", 80, "[::ffff:10.0.0.1]"),
    ],
)
def test_an_address(text, host, port, authority):
    address = board_address(text)
    assert (*address, address.authority) == (host, port, authority)


@pytest.mark.attack("an address of a board with a path, a user, a scheme or a line's end: it is refused")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://10.10.10.1",
        "10.10.10.1/jsonrpc",
        "user@10.10.10.1",
        "10.10.10.1:80@elsewhere",
        "0x0a0a0a01",
        "10.10.10.0X1",
        "10.10.10.1?x",
        "10.10.10.1#x",
        "10.10.10.1:0",
        "10.10.10.1:65536",
        "10.10.10.1:-1",
        "10.10.10.1:",
        "10.10.10.1\r\nX: y",
        "10.10.10.1\n",
        "10.1",
        "167772161",
        "10.10.10.256",
        "10.10.10.1.1",
        "fe80::1",
        "[fe80::1",
        "[fe80::1%eth0]",
        "[::g]",
        "[:::]",
        "a..b",
        "-a",
        "a_b",
        "über",
        "a" * 64,
        "１0.10.10.1",
    ],
)
def test_what_is_no_address(text):
    with pytest.raises(UsageError) as refusal:
        board_address(text)
    assert "\n" not in refusal.value.what and "10.10.10.1" in refusal.value.fix
