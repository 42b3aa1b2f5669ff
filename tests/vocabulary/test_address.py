"""A board's address: its parts, and what is no address."""

import pytest

from edgebench.errors import UsageError
from edgebench.records.target import Address, check_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("board", Address("board")),
        ("me@board.local", Address("board.local", "me")),
        ("me@10.0.0.2:2222", Address("10.0.0.2", "me", 2222)),
        ("me@[fe80::1%eth0]:22", Address("fe80::1%eth0", "me", 22)),
    ],
)
def test_addresses(text, address):
    assert check_address(text) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-oProxyCommand=x",
        "a@-b",
        "-a@b",
        "a b",
        "a;b",
        "a@b:0",
        "a@b:70000",
        "a@b:",
        "$(x)",
        "a@b/c",
        "a b\n",
    ],
)
def test_what_ssh_or_a_shell_could_misread_is_no_address(text):
    with pytest.raises(UsageError):
        check_address(text)
