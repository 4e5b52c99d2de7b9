"""Import of opencode's exports: ``{"info": …, "messages": [{"info": …, "parts": […]}]}``.

Its snapshots cannot be used here.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from agent.records.ids import new_id
from agent.records.json import Json, JsonObject
from agent.records.messages import (
    CompactionPart,
    MessageWithParts,
    Part,
    Session,
    UserMessage,
)
from agent.store.recovery import close_part
from agent.transfer.bundle import Bundle
from agent.transfer.opencode_records import (
    assistant_record,
    dict_of,
    dicts_of,
    part_record,
    session_record,
    text_of,
    user_record,
)


def is_opencode(data: Mapping[str, Json]) -> bool:
    """Return whether *data* has the form of opencode's exports."""
    return isinstance(data.get("info"), dict) and isinstance(data.get("messages"), list)


def from_opencode(data: Mapping[str, Json]) -> Bundle:
    """Return the session in *data*, under new ids. Unknown values are ignored."""
    info = dict_of(data.get("info"))
    session_id = new_id("ses")
    messages = tuple(_Reader(session_id).read(dicts_of(data.get("messages"))))
    costs = [m.message.cost for m in messages if m.message.role == "assistant"]
    known = [cost for cost in costs if cost is not None]
    users = [m.message for m in messages if m.message.role == "user"]
    named = session_record(info)
    return Bundle(
        session=Session(
            id=session_id,
            directory=named.directory,
            project=named.directory,
            title=text_of(info.get("title")),
            created=named.created,
            updated=named.updated,
            agent=users[-1].agent if users else "build",
            model=users[-1].model if users else None,
            cost=sum(known) if known else None,
            turns=len({message.turn_id for message in users}),
        ),
        messages=messages,
    )


class _Reader:
    """Reads the messages of one session in order. Each message of the user begins a turn."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._turn = new_id("trn")
        self._ids: dict[str, str] = {}
        self._parent = ""
        self._step = 0
        self._prompted: UserMessage | None = None
        self._marker: JsonObject | None = None

    def read(self, items: Sequence[JsonObject]) -> Iterator[MessageWithParts]:
        for item in items:
            info, parts = dict_of(item.get("info")), dicts_of(item.get("parts"))
            if info.get("role") == "user":
                yield from self._user(info, parts)
            elif info.get("role") == "assistant":
                yield from self._assistant(info, parts)

    def _user(self, info: JsonObject, parts: Sequence[JsonObject]) -> Iterator[MessageWithParts]:
        self._marker = next((p for p in parts if p.get("type") == "compaction"), None)
        if self._marker is not None:
            return  # the next message is its summary
        self._turn, self._step = new_id("trn"), 0
        message = self._prompted = self._prompt(info)
        made = [part for raw in parts for part in self._parts(raw, message.id)]
        if made:
            yield MessageWithParts(message, tuple(made))

    def _prompt(self, info: JsonObject) -> UserMessage:
        self._parent = self._new_message_id(info)
        return user_record(info, self._session_id, self._parent, self._turn)

    def _assistant(
        self, info: JsonObject, parts: Sequence[JsonObject]
    ) -> Iterator[MessageWithParts]:
        if self._marker is not None and info.get("summary"):
            yield self._summary(info, parts, self._marker)
            self._marker = None
            return
        self._marker = None
        self._step += 1
        message = assistant_record(
            info,
            self._session_id,
            self._new_message_id(info),
            self._parent,
            self._turn,
            self._step,
        )
        if message.completed is None:
            message = replace(message, completed=message.created, interrupted=True)
        made = [part for raw in parts for part in self._parts(raw, message.id)]
        yield MessageWithParts(message, tuple(made))

    def _summary(
        self, info: JsonObject, parts: Sequence[JsonObject], marker: JsonObject
    ) -> MessageWithParts:
        message = replace(self._prompt(info), synthetic=True)
        if self._prompted is not None:
            before = self._prompted
            message = replace(message, agent=before.agent, model=before.model)
        text = "\n".join(text_of(p.get("text")) for p in parts if p.get("type") == "text")
        part = CompactionPart(
            id=new_id("prt"),
            session_id=self._session_id,
            message_id=message.id,
            summary=text,
            auto=bool(marker.get("auto")),
            tail_start_id=self._ids.get(text_of(marker.get("tail_start_id"))),
        )
        return MessageWithParts(message, (part,))

    def _parts(self, raw: JsonObject, message_id: str) -> Iterator[Part]:
        if raw.get("type") not in {"text", "reasoning", "file", "tool"}:
            return
        part = part_record(raw, self._session_id, message_id, new_id("prt"))
        if part is not None:
            yield close_part(part, 0.0)

    def _new_message_id(self, info: JsonObject) -> str:
        made = new_id("msg")
        self._ids[text_of(info.get("id"))] = made
        return made
