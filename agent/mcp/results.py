"""Servers' responses as tool results: text for the model, blocks for the user.

All of it is untrusted: invisible characters are removed, images are checked before they enter the
history, and the pipeline cuts and spills long text like any tool's output.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from agent.mcp.records import Blob, Content, ResourceLink, ServerResponse, Text
from agent.records.blocks import Block, ImageBlock, TextBlock
from agent.records.errors import ToolError
from agent.records.messages import FilePart
from agent.tools.core.base import Result, ToolContext
from agent.tools.core.clean_text import without_invisible
from agent.tools.files.attachments import attach, check_media, check_supported
from agent.tools.files.media import media_type

MAX_SHOWN = 20_000
"""Characters of a text that the transcript keeps; the model's own limit is the pipeline's."""

MAX_FILES = 8
"""Images and documents of one response that the model is given."""

_PER_BYTE = 4 / 3
"""Characters of base64 per byte."""


@dataclass(slots=True)
class _ResultParts:
    texts: list[str] = field(default_factory=list[str])
    blocks: list[Block] = field(default_factory=list[Block])
    files: list[FilePart] = field(default_factory=list[FilePart])


def result_of(answer: ServerResponse, ctx: ToolContext) -> Result:
    """Return the result of a call. Raises ``ToolError`` with the server's message if it failed."""
    made = _ResultParts()
    for piece in answer.content:
        _add_content(piece, made, ctx)
    text = "\n\n".join(made.texts)
    if answer.is_error:
        raise ToolError(text or "The server says that this failed, and nothing more.")
    shown = _excerpt(made.texts)
    blocks = (*((TextBlock(shown),) if shown else ()), *made.blocks)
    return Result(
        text or "(the server answered with nothing)",
        blocks=blocks or (TextBlock("(nothing)"),),
        facts=_facts(text, len(made.files)),
        files=tuple(made.files),
    )


def text_of(pieces: Iterable[Content]) -> str:
    """Return the text of *pieces*, with a placeholder for what is not text."""
    texts: list[str] = []
    for piece in pieces:
        match piece:
            case Text():
                texts.append(without_invisible(piece.text))
            case Blob():
                texts.append(f"[{piece.mime or 'data'}, not text: {piece.uri or 'left out'}]")
            case ResourceLink():
                texts.append(_pointer(piece))
    return "\n\n".join(texts)


def _add_content(piece: Content, made: _ResultParts, ctx: ToolContext) -> None:
    match piece:
        case Text():
            text = without_invisible(piece.text)
            if piece.uri:
                text = f"[{without_invisible(piece.uri)}]\n{text}"
            if text.strip():
                made.texts.append(text)
        case Blob():
            _add_blob(piece, made, ctx)
        case ResourceLink():
            made.texts.append(_pointer(piece))


def _add_blob(piece: Blob, made: _ResultParts, ctx: ToolContext) -> None:
    name = without_invisible(piece.uri) or piece.mime or "data"
    size = round(len(piece.data) / _PER_BYTE)
    try:
        check_supported(name, _checked_type(piece, size, len(made.files)), size, ctx)
        given = attach(name, check_media(name, piece.decoded()), ctx)
    except ToolError as error:
        made.texts.append(f"[{name} is left out: {str(error).rstrip('.')}.]")
    except ValueError:
        made.texts.append(f"[{name} is left out: it is damaged.]")
    else:
        made.files += given.files
        made.blocks += [block for block in given.blocks or () if isinstance(block, ImageBlock)]


def _checked_type(piece: Blob, size: int, given: int) -> tuple[str, str]:
    """Return the media type of a blob by its first bytes. Raises ``ToolError`` for unusable
    data."""
    found = media_type(Blob(piece.mime, piece.data[:64]).decoded())
    if found is None:
        raise ToolError(f"{size:,} bytes of {piece.mime or 'data'}, which no model is given")
    if given >= MAX_FILES:
        raise ToolError(f"one more than the {MAX_FILES} that can be given at once")
    return found


def _pointer(piece: ResourceLink) -> str:
    texts = [without_invisible(part) for part in (piece.name, piece.uri, piece.description) if part]
    return "Resource: " + " · ".join(texts)


def _excerpt(texts: list[str]) -> str:
    text = "\n\n".join(texts).strip()
    if len(text) <= MAX_SHOWN:
        return text
    return f"{text[:MAX_SHOWN]}\n… {len(text) - MAX_SHOWN:,} more characters"


def _facts(text: str, files: int) -> tuple[str, ...]:
    lines = text.count("\n") + 1 if text else 0
    facts = [f"{lines:,} {'line' if lines == 1 else 'lines'}"] if lines else []
    if files:
        facts.append(f"{files} {'file' if files == 1 else 'files'}")
    return tuple(facts)
