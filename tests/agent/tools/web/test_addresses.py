"""The addresses that count as the public internet."""

import pytest

from agent.records.errors import ToolError
from agent.tools.web.addresses import (
    AllowedHosts,
    host_of,
    is_public,
    parse_address,
    parse_url,
)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.255.0.1", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1",
        "169.254.169.254", "100.64.0.1", "192.0.0.8", "198.18.0.1", "224.0.0.1", "239.1.1.1",
        "240.0.0.1", "255.255.255.255", "::", "::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254",
        "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "2002:7f00:1::", "2002:a00:1::1",
        "64:ff9b::7f00:1", "64:ff9b::a00:1", "::127.0.0.1", "2001:db8::1",
    ],
)  # fmt: skip
def test_inner_addresses_in_every_form(address: str) -> None:
    assert not is_public(parse_address(address))


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"],
)
def test_public_addresses(address: str) -> None:
    assert is_public(parse_address(address))


@pytest.mark.parametrize(
    ("entry", "host", "address", "open_to_it"),
    [
        ("localhost", "localhost", "127.0.0.1", True),
        ("LOCALHOST.", "localhost", "::1", True),
        ("localhost", "localhost.evil.test", "127.0.0.1", False),
        ("*.corp.test", "a.b.corp.test", "10.0.0.1", True),
        ("*.corp.test", "corp.test", "10.0.0.1", False),
        ("*.corp.test", "evilcorp.test", "10.0.0.1", False),
        ("10.0.0.0/8", "x.test", "10.9.9.9", True),
        ("10.0.0.0/8", "x.test", "::ffff:10.9.9.9", True),
        ("10.0.0.0/8", "x.test", "192.168.0.1", False),
        ("[::1]", "::1", "::1", True),
        ("127.0.0.1", "x.test", "127.0.0.2", False),
    ],
)
def test_files_that_the_user_opens(entry: str, host: str, address: str, open_to_it: bool) -> None:
    assert AllowedHosts.from_settings((entry,)).permits(host, parse_address(address)) is open_to_it


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file:///etc/passwd", "Only http and https"),
        ("ftp://example.org/", "Only http and https"),
        ("javascript:alert(1)", "Only http and https"),
        ("data:text/html,x", "Only http and https"),
        ("example.org/page", "Only http and https"),
        ("http://user:pw@example.org/", "user name or password"),
        ("http://user@example.org/", "user name or password"),
        ("http:///path", "names no host"),
        ("http://a b/", "spaces"),
        ("http://good.test\\@evil.test/", "spaces, backslashes"),
        ("http://x\x00.test/", "spaces"),
        ("http://[::1/", "is not a URL"),
        ("http://x:99999/", "is not a URL"),
        ("", "Only http and https"),
    ],
)
def test_addresses_that_are_never_contacted(url: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        parse_url(url)


def test_a_host_is_named_as_it_is_sent() -> None:
    assert host_of(parse_url("https://EXAMPLE.org.:8443/x#part")) == "example.org"
    assert host_of(parse_url("https://bücher.example/")) == "xn--bcher-kva.example"
    assert host_of(parse_url("http://[::1]:80/")) == "::1"
    assert str(parse_url("https://a.test/x#part")) == "https://a.test/x"
