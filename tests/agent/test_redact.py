"""Redaction of keys and of the environment's secrets."""

import pytest

from agent.redact import PLACEHOLDER, redacted, secrets_of

LONG = "a1B2c3D4" * 5


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"use sk-ant-{LONG} now", f"use {PLACEHOLDER} now"),
        (f"ghp_{LONG}", PLACEHOLDER),
        ("AKIA" + "ABCD1234" * 2, PLACEHOLDER),
        (f"Authorization: Bearer {LONG}", f"Authorization: Bearer {PLACEHOLDER}"),
        ("postgres://shop:hunter2@db/x", f"postgres://shop:{PLACEHOLDER}@db/x"),
        ('"api_key": "abcdefgh1234"', f'"api_key": "{PLACEHOLDER}"'),
        ("DB_PASSWORD=correct-horse", f"DB_PASSWORD={PLACEHOLDER}"),
        (
            f"-----BEGIN RSA PRIVATE KEY-----\n{LONG}\n-----END RSA PRIVATE KEY-----\nx",
            f"{PLACEHOLDER}\nx",
        ),
        ("the token count is 12", "the token count is 12"),
        ("https://example.org/a:b@c", "https://example.org/a:b@c"),
        ("def tokens(count): return count", "def tokens(count): return count"),
    ],
)
def test_documented_forms_of_keys_are_redacted(text: str, left: str) -> None:
    assert redacted(text) == left


def test_secret_values_of_the_environment_are_redacted() -> None:
    env = {"SHOP_TOKEN": "hunter2hunter2", "PATH": "/usr/bin:/bin", "API_KEY": "short"}
    secrets = secrets_of(env)
    assert secrets == ("hunter2hunter2",)
    assert redacted("it is hunter2hunter2!", secrets) == f"it is {PLACEHOLDER}!"
