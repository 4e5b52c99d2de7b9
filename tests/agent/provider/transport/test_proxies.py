"""The proxy that the environment names for an address."""

import pytest

from agent.provider.transport.proxies import environment_proxy


@pytest.mark.parametrize(
    ("env", "url", "proxy"),
    [
        ({}, "http://a.test/", None),
        ({"HTTP_PROXY": "http://p:1"}, "http://a.test/", "http://p:1"),
        ({"HTTP_PROXY": "http://p:1"}, "https://a.test/", None),
        ({"https_proxy": "p:1"}, "https://a.test/", "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, "https://a.test/", "http://p:1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "b.test, .a.test"}, "https://x.a.test/", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.test"}, "https://xa.test/", "http://p:1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "*"}, "https://a.test/", None),
        ({"ALL_PROXY": "http://p:1"}, "http://127.0.0.1:80/", None),
        ({"ALL_PROXY": "http://p:1"}, "http://localhost/", None),
        ({"ALL_PROXY": "http://p:1", "all_proxy": "http://q:1"}, "http://a.test/", "http://q:1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://10.1.2.3/", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://11.1.2.3/", "http://p:1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "fd00::/8"}, "http://[fd00::1]/", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "fd00::1"}, "http://[fd00::1]/", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "[fd00::1]:80"}, "http://[fd00::1]/", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.test:8080"}, "http://a.test:8080/", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.test:8080"}, "http://a.test/", "http://p:1"),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "a.test:443"}, "https://a.test/", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": "http://a.test"}, "https://a.test/", None),
        ({"ALL_PROXY": "http://p:1", "NO_PROXY": ""}, "http://[broken/", None),
    ],
)
def test_proxies_of_the_environment(env: dict[str, str], url: str, proxy: str | None) -> None:
    assert environment_proxy(url, env) == proxy
