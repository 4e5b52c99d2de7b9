"""Error responses of every form: their kind, message and retry delay."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from agent.provider.transport.errors import connection_error, error_from_event, error_from_response
from agent.records.errors import ProviderError


def error(status: int, body: str | bytes = b"", **headers: str) -> ProviderError:
    raw = body.encode() if isinstance(body, str) else body
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return error_from_response("acme", status, named, raw)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, "", "overflow"),
        (413, "", "overflow"),
        (401, '{"error":"the prompt is too long: 9 tokens > 8 maximum"}', "overflow"),
        (400, '"maximum context length is 8 tokens"', "overflow"),
        (500, '{"error":{"message":"the request exceeds the available context size"}}', "overflow"),
        (429, "", "rate_limit"),
        (429, '{"error":"Rate limit of 30,000 input tokens per minute"}', "rate_limit"),
        (400, '{"error":{"message":"Rate limit exceeded: too many tokens per minute"}}',
         "rate_limit"),
        (429, '{"error":{"code":"insufficient_quota"}}', "quota"),
        (402, "", "quota"),
        (401, "", "auth"),
        (403, "<html><title>Forbidden</title></html>", "auth"),
        (404, "not here", "invalid_request"),
        (422, '{"detail":[{"msg":"Field required","loc":["body","x"]}]}', "invalid_request"),
        (408, "", "network"),
        (500, "", "overloaded"),
        (529, "{}", "overloaded"),
        (504, "<html><h1>Gateway timeout</h1></html>", "overloaded"),
        (400, '{"error":{"code":"content_filter","message":"filtered"}}', "content_filter"),
    ],
)  # fmt: skip
def test_kinds(status: int, body: str, kind: str) -> None:
    assert error(status, body).kind.value == kind


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"error":{"message":"No such model"}}', "No such model"),
        ('{"error":"model not found"}', "model not found"),
        ('{"detail":[{"msg":"Field required"}]}', "Field required"),
        ('{"error":{"message":"{\\"error\\":{\\"message\\":\\"inner\\"}}"}}', "inner"),
        ('{"error":{"message":"Provider returned error","metadata":{"raw":"busy"}}}',
         "Provider returned error: busy"),
        ("<html><head><title>404 Not Found</title></head></html>", "404 Not Found (a web page"),
        ("plain\x1b[31m words", "plain [31m words"),
        ('{"odd":1}', '{"odd":1}'),
        ("", "HTTP 422, without details"),
        (b"\xff\xfe broken", "broken"),
    ],
)  # fmt: skip
def test_the_error_message_quotes_the_server(body: str | bytes, words: str) -> None:
    sentence = str(error(422, body))
    assert sentence.startswith("acme refused the request: ")
    assert words in sentence


def test_a_model_that_is_gone_is_named() -> None:
    gone = '{"error":{"message":"The model `old` has been retired"}}'
    sentence = "acme does not have this model: The model `old` has been retired"
    assert str(error(404, gone)) == str(error(410, gone)) == sentence
    assert str(error(404, "no such page")) == "acme refused the request: no such page"


def test_long_bodies_are_cut() -> None:
    assert len(str(error(404, "x" * 100_000))) < 600


def test_overloaded_event_in_mid_stream() -> None:
    event = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    assert error_from_event("acme", event).kind.value == "overloaded"


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ("boom", "overloaded"),
        ({"code": 502, "message": "bad gateway"}, "overloaded"),
        ({"code": "400", "message": "Token limit reached"}, "invalid_request"),
        ({"message": "Request timed out"}, "network"),
        ({"type": "invalid_request_error", "message": "no"}, "invalid_request"),
        ({"code": "context_length_exceeded"}, "overflow"),
        ({"code": "insufficient_quota"}, "quota"),
    ],
)
def test_events_without_a_status(event: Any, kind: str) -> None:
    assert error_from_event("acme", event).kind.value == kind


def test_a_failed_tool_use_gets_one_retry() -> None:
    failed = error_from_event("acme", {"code": "tool_use_failed", "message": "bad call"})
    assert failed.retry_once
    assert "tool call" in str(failed)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after_ms": "1500", "retry_after": "9"}, 1.5),
        ({"retry_after_ms": "0", "retry_after": "2"}, 2),
        ({"retry_after": "7"}, 7),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "-1"}, None),
        ({"retry_after": "nan"}, None),
        ({"retry_after": "Wed, 21 Oct 2015 07:28:00 GMT"}, None),
        ({}, None),
    ],
)
def test_wait_from_headers(headers: dict[str, str], seconds: float | None) -> None:
    assert error(429, "", **headers).retry_after == seconds


def test_wait_until_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=300), usegmt=True)
    assert error(429, "", retry_after=date).retry_after == pytest.approx(300, abs=30)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 20s.", 20),
        ("Please retry in 48.5s", 48.5),
        ("try again in 250ms", 0.25),
        ("try again in 1m30s", 90),
        ("try again in 2h0m5s", 7205),
        ("Please retry after 35 seconds.", 35),
        ("try again later", None),
        ('{"details": [{"retryDelay": "12s"}]}', 12),
    ],
)
def test_wait_from_the_message(text: str, seconds: float | None) -> None:
    assert error(429, text).retry_after == seconds


def test_wait_is_not_taken_from_errors_that_are_not_retried() -> None:
    assert error(400, "try again in 20s", retry_after="5").retry_after is None


def test_broken_connection() -> None:
    assert connection_error("acme", "it broke").kind.value == "network"
