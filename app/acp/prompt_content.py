"""The content of a client's prompt: text, links to files, embedded files, images."""

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from acp import schema
from acp.exceptions import RequestError

from agent.custom_commands import parse_slash
from agent.records.messages import FilePart
from agent.session.api import PromptInput
from agent.session.prompt.attachments import ATTACHED
from agent.session.prompt.mentions import agents_in, mentions_in
from app.text.mentions import mention_of

Content: TypeAlias = (
    schema.TextContentBlock
    | schema.ImageContentBlock
    | schema.AudioContentBlock
    | schema.ResourceContentBlock
    | schema.EmbeddedResourceContentBlock
)

_LINES = re.compile(r"L(\d+)(?:[:-]L?(\d+))?")


def prompt_of(
    blocks: Sequence[Content], directory: Path, agents: Collection[str] = ()
) -> PromptInput:
    """Return the prompt for a session in *directory*; *agents* are those that it can mention.

    Linked files are read by the agent. For embedded files their own text counts, since an editor
    has what is not saved yet. Raises ``RequestError`` for audio.
    """
    texts: list[tuple[str, bool]] = []
    attached: list[str] = []
    files: list[FilePart] = []
    for block in blocks:
        match block:
            case schema.TextContentBlock():
                texts.append((block.text, False))
            case schema.ResourceContentBlock():
                texts.append((_linked(block, directory), True))
            case schema.ImageContentBlock():
                files.append(_file(block.mime_type, block.data))
            case schema.EmbeddedResourceContentBlock(
                resource=schema.TextResourceContents() as resource
            ):
                name = _name(resource.uri, directory)
                texts.append((f"`{name}`", True))
                attached.append(ATTACHED.format(path=name, text=resource.text))
            case schema.EmbeddedResourceContentBlock(
                resource=schema.BlobResourceContents() as resource
            ):
                texts.append((f"`{_name(resource.uri, directory)}`", True))
                files.append(_file(resource.mime_type or "application/octet-stream", resource.blob))
            case _:
                raise RequestError.invalid_params({"details": "Audio cannot be sent."})
    text = _joined(texts)
    return PromptInput(
        text="\n\n".join((text, *attached)),
        mentions=mentions_in(text, directory),
        agents=agents_in(text, agents),
        files=tuple(files),
    )


_OPENING, _CLOSING = "([{<\"'", ".,;:!?)]}>\"'"


def _joined(texts: Sequence[tuple[str, bool]]) -> str:
    """Return the texts of blocks as one; with each, whether it is a mention. Some editors put
    mentions into the text, others send them after it, and none must run into a word."""
    joined, mentioned = "", False
    for text, is_mention in texts:
        glued = joined and text and not (joined[-1].isspace() or text[0].isspace())
        if glued and (is_mention or mentioned):
            joined += "" if joined[-1] in _OPENING or text[0] in _CLOSING else " "
        joined, mentioned = joined + text, is_mention
    return joined


def slash_command_in(blocks: Sequence[Content]) -> tuple[str, str] | None:
    """Return the name and the argument of a prompt that looks like a slash command."""
    if not blocks or not all(isinstance(block, schema.TextContentBlock) for block in blocks):
        return None
    return parse_slash(
        "".join(block.text for block in blocks if isinstance(block, schema.TextContentBlock))
    )


def _file(mime: str, data: str) -> FilePart:
    return FilePart(id="", session_id="", message_id="", mime=mime, data=data)


def _linked(block: schema.ResourceContentBlock, directory: Path) -> str:
    """Return a mention of an existing file; other links stay links."""
    address = urlsplit(block.uri)
    path = _path(block.uri)
    if path is None or not path.exists():
        return f"[{block.title or block.name}]({block.uri})"
    lines = _LINES.search(address.fragment)
    found = mention_of(_shown(path, directory))
    if lines is None or found.endswith('"'):
        return found
    return f"{found}#L{lines[1]}-{lines[2] or lines[1]}"


def _name(uri: str, directory: Path) -> str:
    path = _path(uri)
    return _shown(path, directory) if path is not None else uri


def _path(uri: str) -> Path | None:
    """Return the file that *uri* names, None if it names none."""
    address = urlsplit(uri)
    if address.scheme == "file" and address.netloc in {"", "localhost"}:
        return Path(unquote(address.path))
    return Path(uri) if uri.startswith("/") else None


def _shown(path: Path, directory: Path) -> str:
    return str(path.relative_to(directory)) if path.is_relative_to(directory) else str(path)
