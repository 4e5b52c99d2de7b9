"""What a scripted answer is made of (spec 9, Q2): pieces that each dialect writes its way."""

import asyncio
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
class Call:
    """A tool call. *args* is an object, sent as JSON in *pieces* pieces, or raw text.

    *index* is the dialect's index (None: the next free one); *cut* leaves the end away.
    """

    name: str
    args: dict[str, Json] | str | None = None
    id: str | None = "auto"
    index: int | None = None
    pieces: int = 3


@dataclass(frozen=True)
class Finish:
    """The finish reason, in the dialect's own word."""

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
    """Bytes as they are."""

    data: bytes


@dataclass(frozen=True)
class Hold:
    """Wait here until *gate* is set; *reached* is set when the server waits."""

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    reached: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True)
class Cut:
    """Close the connection without an end mark."""


@dataclass(frozen=True)
class Done:
    """The end mark alone, without a finish reason."""


@dataclass(frozen=True)
class Failure:
    """An HTTP error instead of a stream."""

    status: int
    body: str = '{"error": {"message": "scripted failure"}}'
    headers: tuple[tuple[str, str], ...] = ()


Piece = Text | Reason | Call | Finish | Tokens | Raw | Hold | Cut | Done
Answer = tuple[Piece, ...] | Failure


def answer(*pieces: Piece) -> Answer:
    """*pieces*, completed by a finish reason that fits, usage and the end mark."""
    done = list(pieces)
    if any(isinstance(p, Cut | Done) for p in done):
        return tuple(done)
    if not any(isinstance(p, Finish) for p in done):
        done.append(Finish("calls" if any(isinstance(p, Call) for p in done) else "end"))
    if not any(isinstance(p, Tokens) for p in done):
        done.append(Tokens())
    return (*done, Done())
