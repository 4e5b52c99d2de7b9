"""Our turns as the messages of Anthropic's API: a pure transform (spec 5, R4).

Roles alternate, beginning and ending with the user; the results of an answer's calls stand
first in the very next message, one for each call; thinking leads its message and goes back
only with its signature and only to the model that made it. What the decoder keeps of a
thinking block is ``{"signature": text}``, of a redacted one ``{"redacted": data}``.
"""

from collections.abc import Callable, Iterable, Sequence

from agent.jsontypes import Json, JsonObject
from agent.provider.client import (
    AssistantTurn,
    MediaContent,
    ReasoningContent,
    TextContent,
    ToolCallContent,
    ToolResultContent,
    ToolTurn,
    Turn,
    UserTurn,
)
from agent.provider.protocols.call_ids import CallIds
from agent.provider.protocols.placeholders import (
    BLIND,
    GO_ON,
    LOST_RESULT,
    NO_OUTPUT,
    PDF,
    Sight,
    unseen,
)
from agent.provider.protocols.tool_names import clean

IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
THOUGHTS = frozenset({"thinking", "redacted_thinking"})


def messages_of(
    turns: Iterable[Turn],
    *,
    model: str,
    sight: Sight = BLIND,
    replay: bool = True,
    name: Callable[[str], str] = clean,
) -> list[JsonObject]:
    """The ``messages`` for *turns*, to be sent to *model* (``provider/model``).

    *replay* false leaves out all thinking; *name* gives the name of a call as it is sent.
    """
    writer = _Writer(model if replay else None, sight, name)
    for turn in turns:
        match turn:
            case UserTurn():
                writer.user(_user_blocks(turn.content, sight))
            case AssistantTurn():
                writer.assistant(turn)
            case ToolTurn():
                writer.results(turn.content)
    return writer.finish()


class _Writer:
    """Joins neighbours of one role, and answers every call before anything else is said."""

    def __init__(self, model: str | None, sight: Sight, name: Callable[[str], str]) -> None:
        self._model = model
        self._sight = sight
        self._name = name
        self._ids = CallIds()
        self._open: list[tuple[str, str]] = []
        self._messages: list[tuple[str, list[Json]]] = []

    def user(self, blocks: list[Json]) -> None:
        self.results(())
        if blocks:
            self._say("user", blocks)

    def assistant(self, turn: AssistantTurn) -> None:
        self.results(())
        same = self._model is not None and turn.model in ("", self._model)
        thoughts = [b for c in turn.content if same and (b := _thought(c)) is not None]
        texts: list[Json] = [
            {"type": "text", "text": c.text.rstrip()}
            for c in turn.content
            if isinstance(c, TextContent) and c.text.strip()
        ]
        calls: list[Json] = []
        for content in turn.content:
            if isinstance(content, ToolCallContent):
                sent = self._ids.take(content.call_id)
                self._open.append((content.call_id, sent))
                name = self._name(content.name)
                calls.append({"type": "tool_use", "id": sent, "name": name, "input": content.input})
        if texts or calls:
            # Two answers in a row become one message, in which thinking may only lead.
            joins = bool(self._messages) and self._messages[-1][0] == "assistant"
            self._say("assistant", [*([] if joins else thoughts), *texts, *calls])

    def results(self, results: Sequence[ToolResultContent]) -> None:
        """Answer the open calls, in order; one whose result is missing is told so."""
        left = list(results)
        blocks: list[Json] = []
        for call_id, sent in self._open:
            found = next((result for result in left if result.call_id == call_id), None)
            if found is not None:
                left.remove(found)
            blocks.append(_result(sent, found, sight=self._sight))
        self._open = []
        if blocks:
            self._say("user", blocks)

    def _say(self, role: str, blocks: list[Json]) -> None:
        if self._messages and self._messages[-1][0] == role:
            self._messages[-1][1].extend(blocks)
        else:
            if not self._messages and role == "assistant":
                self._messages.append(("user", [{"type": "text", "text": GO_ON}]))
            self._messages.append((role, blocks))

    def finish(self) -> list[JsonObject]:
        self.results(())
        if self._messages and self._messages[-1][0] == "assistant":
            self._messages.append(("user", [{"type": "text", "text": GO_ON}]))
        return [{"role": role, "content": blocks} for role, blocks in self._messages]


def _thought(content: TextContent | ReasoningContent | ToolCallContent) -> JsonObject | None:
    """A thinking block to replay, None for what is no thinking or was never signed."""
    if not isinstance(content, ReasoningContent) or content.opaque is None:
        return None
    if "redacted" in content.opaque:
        return {"type": "redacted_thinking", "data": content.opaque["redacted"]}
    signature = content.opaque.get("signature")
    if not signature:
        return None
    return {"type": "thinking", "thinking": content.text, "signature": signature}


def _user_blocks(content: Sequence[TextContent | MediaContent], sight: Sight) -> list[Json]:
    blocks: list[Json] = []
    for item in content:
        match item:
            case TextContent() if item.text.strip():
                blocks.append({"type": "text", "text": item.text})
            case MediaContent():
                blocks.append(_media(item, sight=sight))
            case _:
                pass
    return blocks


def _media(media: MediaContent, *, sight: Sight) -> JsonObject:
    if sight.sees(media) and media.mime in {PDF, *IMAGES}:
        source: JsonObject = {"type": "base64", "media_type": media.mime, "data": media.data}
        return {"type": "document" if media.mime == PDF else "image", "source": source}
    return {"type": "text", "text": unseen(media)}


def _result(sent: str, result: ToolResultContent | None, *, sight: Sight) -> JsonObject:
    block: JsonObject = {"type": "tool_result", "tool_use_id": sent}
    if result is None:
        return {**block, "content": LOST_RESULT, "is_error": True}
    text = result.output if result.output.strip() else NO_OUTPUT
    if result.is_error:
        return {**block, "content": text, "is_error": True}
    if not result.media:
        return {**block, "content": text}
    shown: list[Json] = [_media(media, sight=sight) for media in result.media]
    return {**block, "content": [{"type": "text", "text": text}, *shown]}
