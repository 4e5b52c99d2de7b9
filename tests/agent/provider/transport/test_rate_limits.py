"""Rate limits in the headers of responses."""

from agent.provider.transport.http import parse_rate_limits
from agent.records.spending import RateLimit

NOW = 1_800_000_000.0


def test_openai() -> None:
    headers = {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": "1m0.5s",
        "x-ratelimit-limit-tokens": "30000",
        "x-ratelimit-remaining-tokens": "15000",
        "x-ratelimit-reset-tokens": "120ms",
    }
    assert parse_rate_limits(headers, NOW) == (
        RateLimit("requests", 0.998, 499, 500, NOW + 60.5),
        RateLimit("tokens", 0.5, 15_000, 30_000, NOW + 0.12),
    )


def test_anthropic_and_its_plans() -> None:
    headers = {
        "anthropic-ratelimit-input-tokens-limit": "50000",
        "anthropic-ratelimit-input-tokens-remaining": "10000",
        "anthropic-ratelimit-input-tokens-reset": "2027-01-15T08:00:30Z",
        "anthropic-ratelimit-unified-5h-utilization": "0.25",
        "anthropic-ratelimit-unified-5h-reset": "1800003600",
        "anthropic-ratelimit-unified-status": "allowed",
    }
    assert parse_rate_limits(headers, NOW) == (
        RateLimit("input tokens", 0.2, 10_000, 50_000, NOW + 30),
        RateLimit("5h", 0.75, None, None, NOW + 3_600),
    )


def test_codex_plan() -> None:
    headers = {
        "X-Codex-Primary-Used-Percent": "40",
        "X-Codex-Primary-Window-Minutes": "300",
        "X-Codex-Primary-Reset-After-Seconds": "60",
        "X-Codex-Secondary-Used-Percent": "90",
        "X-Codex-Secondary-Window-Minutes": "10080",
    }
    first, second = parse_rate_limits(headers, NOW)
    assert first == RateLimit("5h", 0.6, None, None, NOW + 60)
    assert (second.name, round(second.share or 0, 3)) == ("7d", 0.1)


def test_plain_headers_with_milliseconds() -> None:
    headers = {
        "X-RateLimit-Limit": "20",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": "1800000060000",
    }
    assert parse_rate_limits(headers, NOW) == (RateLimit("requests", 0.0, 0, 20, NOW + 60),)


def test_what_cannot_be_read_is_ignored() -> None:
    headers = {
        "x-ratelimit-remaining-tokens": "many",
        "x-ratelimit-reset-requests": "soon",
        "x-ratelimit-limit-requests": "0",
        "x-ratelimit-remaining-requests": "3",
        "content-type": "text/plain",
    }
    assert parse_rate_limits(headers, NOW) == (RateLimit("requests", None, 3, 0, None),)
