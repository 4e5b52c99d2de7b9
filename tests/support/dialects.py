"""The protocols of the scripted server, chosen by the path of the request."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from tests.support import strict_anthropic, strict_chat, strict_gemini, strict_responses
from tests.support.anthropic_dialect import AnthropicWriter
from tests.support.chat_dialect import ChatWriter
from tests.support.gemini_dialect import GeminiWriter
from tests.support.responses_dialect import ResponsesWriter
from tests.support.script import Failure, Piece


class Writer(Protocol):
    """A writer of one response, piece by piece."""

    def write(self, piece: Piece) -> Iterator[bytes]: ...


@dataclass(frozen=True)
class Dialect:
    """One protocol of the scripted server."""

    violations: Callable[[dict, dict[str, str]], list[str]]
    """The reasons to refuse a body and its headers (with lower-case names)."""

    refusal: Callable[[list[str]], Failure]
    """The response to a refused request."""

    writer: Callable[[dict, int], Writer]
    """The writer of the response to a body and the number of its request."""


def dialect_of(path: str) -> Dialect | None:
    """Return the protocol at *path*, None where nothing is served."""
    path = path.partition("?")[0]
    return next((found for end, found in _DIALECTS.items() if path.endswith(end)), None)


def _openai_refusal(problems: list[str]) -> Failure:
    error = {"message": "; ".join(problems), "type": "invalid_request_error"}
    return Failure(400, json.dumps({"error": error | {"param": None, "code": None}}))


def _gemini_refusal(problems: list[str]) -> Failure:
    error = {"code": 400, "message": "; ".join(problems), "status": "INVALID_ARGUMENT"}
    return Failure(400, json.dumps({"error": error}))


def _anthropic_refusal(problems: list[str]) -> Failure:
    error = {"type": "invalid_request_error", "message": "; ".join(problems)}
    return Failure(400, json.dumps({"type": "error", "error": error, "request_id": "req_1"}))


_DIALECTS = {
    "/chat/completions": Dialect(
        lambda body, _: strict_chat.violations(body),
        _openai_refusal,
        lambda body, number: ChatWriter(body.get("model", ""), number),
    ),
    "/responses": Dialect(
        lambda body, _: strict_responses.violations(body), _openai_refusal, ResponsesWriter
    ),
    ":streamGenerateContent": Dialect(
        strict_gemini.violations, _gemini_refusal, lambda _, number: GeminiWriter(number)
    ),
    "/messages": Dialect(
        strict_anthropic.violations,
        _anthropic_refusal,
        lambda body, number: AnthropicWriter(body.get("model", ""), number),
    ),
}
