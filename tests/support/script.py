"""Pieces of a scripted response, which each dialect writes its own way."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

Json = object


@dataclass(frozen=True)
class Text:
    """A text delta."""

    text: str


@dataclass(frozen=True)
class Reason:
    """A reasoning delta."""

    text: str


@dataclass(frozen=True)
class Opaque:
    """Hidden reasoning: a redacted block, or an item without a summary."""

    data: str


@dataclass(frozen=True)
class Call:
    """A tool call. *args* is an object, sent as JSON in *pieces* pieces, or raw text.

    *index* is the index in the dialect (None: the next free one), for chat completions only.
    """

    name: str
    args: dict[str, Json] | str | None = None
    id: str | None = "auto"
    index: int | None = None
    pieces: int = 3


@dataclass(frozen=True)
class Finish:
    """The finish reason: ``end``, ``calls`` or ``limit``, else the dialect's own word."""

    reason: str | None = None


@dataclass(frozen=True)
class Tokens:
    """Usage: prompt tokens (cached ones included), completion tokens, cached, reasoning."""

    prompt: int = 100
    completion: int = 10
    cached: int = 0
    reasoning: int = 0


@dataclass(frozen=True)
class Raw:
    """Raw bytes."""

    data: bytes


@dataclass(frozen=True)
class Hold:
    """Wait until *gate* is set; *reached* is set when the server waits."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    reached: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class Pause:
    """Flush, then wait so many seconds. For benchmarks: tests wait for events."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """Close the connection without an end mark."""


@dataclass(frozen=True)
class Done:
    """The end mark alone, without a finish reason."""


@dataclass(frozen=True)
class StreamFailure:
    """An error during the stream, in the form of the protocol. *kind* is its type or code."""

    kind: str = "server_error"
    message: str = "scripted failure"


@dataclass(frozen=True)
class Failure:
    """An HTTP error instead of a stream."""

    status: int
    body: str = '{"error": {"message": "scripted failure"}}'
    headers: tuple[tuple[str, str], ...] = ()


Piece = (
    Text
    | Reason
    | Opaque
    | Call
    | Finish
    | Tokens
    | Raw
    | Hold
    | Pause
    | StreamFailure
    | Cut
    | Done
)
Answer = Iterable[Piece] | Failure
"""Pieces are requested one by one, each after the one before it was sent."""


def answer(*pieces: Piece) -> tuple[Piece, ...]:
    """Return *pieces* completed by a matching finish reason, usage and the end mark."""
    done = list(pieces)
    if any(isinstance(p, Cut | Done | StreamFailure) for p in done):
        return tuple(done)
    if not any(isinstance(p, Finish) for p in done):
        done.append(Finish("calls" if any(isinstance(p, Call) for p in done) else "end"))
    if not any(isinstance(p, Tokens) for p in done):
        done.append(Tokens())
    return (*done, Done())
