"""Import of opencode's exports: ``{"info": …, "messages": [{"info": …, "parts": […]}]}``.

Times there are milliseconds. Its input tokens exclude cached tokens and its output tokens exclude
reasoning; ours include both. Its snapshots cannot be used here.
"""

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from agent.records.blocks import Block, DiffBlock, ShellBlock, TodoBlock, TodoItem, ToolLabel
from agent.records.ids import new_id
from agent.records.json import Json, JsonObject
from agent.records.messages import (
    AssistantMessage,
    CompactionPart,
    Completed,
    ErrorInfo,
    Failed,
    FilePart,
    Finish,
    MessageWithParts,
    Part,
    ReasoningPart,
    Session,
    TextPart,
    ToolPart,
    ToolState,
    Usage,
    UserMessage,
)
from agent.tools.files.diffs import make_diff
from agent.transfer.bundle import Bundle

FINISHES: tuple[Finish, ...] = get_args(Finish)

UNFINISHED = "The call had not ended when the session was exported."

_DATA_URL = re.compile(r"data:[^,;]*(?:;[^,;]*)*;base64,(.*)", re.DOTALL)


def is_opencode(data: Mapping[str, Json]) -> bool:
    """Return whether *data* has the form of opencode's exports."""
    return isinstance(data.get("info"), dict) and isinstance(data.get("messages"), list)


def from_opencode(data: Mapping[str, Json]) -> Bundle:
    """Return the session in *data*, under new ids. Unknown values are ignored."""
    info = _dict(data.get("info"))
    session_id = new_id("ses")
    times = _dict(info.get("time"))
    messages = tuple(_Reader(session_id).read(_dicts(data.get("messages"))))
    costs = [m.message.cost for m in messages if m.message.role == "assistant"]
    known = [cost for cost in costs if cost is not None]
    users = [m.message for m in messages if m.message.role == "user"]
    return Bundle(
        session=Session(
            id=session_id,
            directory=_text(info.get("directory")),
            project=_text(info.get("directory")),
            title=_text(info.get("title")),
            created=_seconds(times.get("created")),
            updated=_seconds(times.get("updated")),
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
        self._model_and_agent = ("unknown", "build")
        self._marker: JsonObject | None = None

    def read(self, items: Sequence[JsonObject]) -> Iterator[MessageWithParts]:
        for item in items:
            info, parts = _dict(item.get("info")), _dicts(item.get("parts"))
            if info.get("role") == "user":
                yield from self._user(info, parts)
            elif info.get("role") == "assistant":
                yield from self._assistant(info, parts)

    def _user(self, info: JsonObject, parts: Sequence[JsonObject]) -> Iterator[MessageWithParts]:
        self._marker = next((p for p in parts if p.get("type") == "compaction"), None)
        if self._marker is not None:
            return  # the next message is its summary
        message = self._prompt(info, synthetic=False)
        made = [part for raw in parts for part in self._parts(raw, message.id)]
        if made:
            yield MessageWithParts(message, tuple(made))

    def _prompt(self, info: JsonObject, *, synthetic: bool) -> UserMessage:
        id_ = self._new_message_id(info)
        if not synthetic:
            self._turn, self._step = new_id("trn"), 0
        self._parent = id_
        model = _dict(info.get("model")) or info
        if not synthetic:
            self._model_and_agent = (_model(model), _text(info.get("agent")) or "build")
        return UserMessage(
            id=id_,
            session_id=self._session_id,
            created=_seconds(_dict(info.get("time")).get("created")),
            agent=self._model_and_agent[1],
            model=self._model_and_agent[0],
            effort=_text(model.get("variant")) or None,
            turn_id=self._turn,
            synthetic=synthetic,
        )

    def _assistant(
        self, info: JsonObject, parts: Sequence[JsonObject]
    ) -> Iterator[MessageWithParts]:
        if self._marker is not None and info.get("summary"):
            yield self._summary(info, parts, self._marker)
            self._marker = None
            return
        self._marker = None
        self._step += 1
        times, tokens = _dict(info.get("time")), _dict(info.get("tokens"))
        error = _dict(info.get("error"))
        created = _seconds(times.get("created"))
        message = AssistantMessage(
            id=self._new_message_id(info),
            session_id=self._session_id,
            created=created,
            parent_id=self._parent,
            turn_id=self._turn,
            step=self._step,
            agent=_text(info.get("agent")) or _text(info.get("mode")) or "build",
            model=_model(info),
            completed=_seconds(times.get("completed")) or created,
            finish=_finish(info.get("finish")),
            usage=_usage(tokens) if tokens else None,
            cost=_number(info.get("cost")),
            error=_error(error) if error and "Abort" not in _text(error.get("name")) else None,
            interrupted="Abort" in _text(error.get("name")) or "completed" not in times,
        )
        made = [part for raw in parts for part in self._parts(raw, message.id)]
        yield MessageWithParts(message, tuple(made))

    def _summary(
        self, info: JsonObject, parts: Sequence[JsonObject], marker: JsonObject
    ) -> MessageWithParts:
        message = self._prompt(info, synthetic=True)
        text = "\n".join(_text(p.get("text")) for p in parts if p.get("type") == "text")
        start = self._ids.get(_text(marker.get("tail_start_id")))
        own = self._new_part_ids(message.id)
        part = CompactionPart(
            id=own[0],
            session_id=own[1],
            message_id=own[2],
            summary=text,
            auto=bool(marker.get("auto")),
            tail_start_id=start,
        )
        return MessageWithParts(message, (part,))

    def _parts(self, raw: JsonObject, message_id: str) -> Iterator[Part]:
        own, times = self._new_part_ids(message_id), _dict(raw.get("time"))
        started = _seconds(times.get("start"))
        ended = _seconds(times.get("end")) or started
        match raw.get("type"):
            case "text":
                yield TextPart(
                    id=own[0],
                    session_id=own[1],
                    message_id=own[2],
                    text=_text(raw.get("text")),
                    started=started,
                    ended=ended,
                    synthetic=bool(raw.get("synthetic")),
                    ignored=bool(raw.get("ignored")),
                )
            case "reasoning":
                yield ReasoningPart(
                    id=own[0],
                    session_id=own[1],
                    message_id=own[2],
                    text=_text(raw.get("text")),
                    started=started,
                    ended=ended,
                )
            case "file":
                yield _file(raw, own)
            case "tool":
                yield ToolPart(
                    id=own[0],
                    session_id=own[1],
                    message_id=own[2],
                    call_id=_text(raw.get("callID")) or new_id("cal"),
                    tool=_text(raw.get("tool")),
                    state=_state(_text(raw.get("tool")), _dict(raw.get("state"))),
                )
            case _:
                return

    def _new_part_ids(self, message_id: str) -> tuple[str, str, str]:
        """Return the ids of a new part: its own, the session's, the message's."""
        return new_id("prt"), self._session_id, message_id

    def _new_message_id(self, info: JsonObject) -> str:
        made = new_id("msg")
        self._ids[_text(info.get("id"))] = made
        return made


def _state(tool: str, state: JsonObject) -> ToolState:
    given, times = _dict(state.get("input")), _dict(state.get("time"))
    started, ended = _seconds(times.get("start")), _seconds(times.get("end"))
    label = ToolLabel(tool.capitalize(), _text(state.get("title")) or _subject(given))
    match state.get("status"):
        case "completed":
            output = _text(state.get("output"))
            blocks = tuple(_blocks(tool, given, output, _dict(state.get("metadata"))))
            exit_code = _number(_dict(state.get("metadata")).get("exit"))
            return Completed(
                input=given,
                label=label,
                started=started,
                ended=ended or started,
                output=output,
                blocks=blocks,
                exit_code=None if exit_code is None else int(exit_code),
            )
        case "error":
            why, kind = _text(state.get("error")) or "The call failed.", "error"
        case _:
            why, kind = UNFINISHED, "interrupted"
    return Failed(
        error=why,
        kind=kind,
        started=started,
        ended=ended or started,
        input=given,
        label=label,
    )


def _blocks(tool: str, given: JsonObject, output: str, more: JsonObject) -> Iterator[Block]:
    files = _dicts(more.get("files")) or [_dict(more.get("filediff"))]
    for file in files:
        path = _text(file.get("file")) or _text(file.get("filePath"))
        if path and isinstance(file.get("before"), str) and isinstance(file.get("after"), str):
            yield _diff(path, _text(file.get("before")), _text(file.get("after")))
    if tool == "bash":
        exit_code = _number(more.get("exit"))
        code = None if exit_code is None else int(exit_code)
        yield ShellBlock(_text(given.get("command")), output, code)
    elif tool == "todowrite":
        yield TodoBlock(tuple(_todo(item) for item in _dicts(given.get("todos"))))


def _diff(path: str, before: str, after: str) -> DiffBlock:
    return make_diff(path, before, after, "modify" if before else "create").block


def _todo(item: JsonObject) -> TodoItem:
    status = _text(item.get("status"))
    match status:
        case "in_progress" | "completed" | "cancelled":
            return TodoItem(_text(item.get("content")), status)
        case _:
            return TodoItem(_text(item.get("content")))


def _subject(given: JsonObject) -> str:
    names = ("filePath", "path", "command", "pattern", "url", "query", "description", "name")
    return next((_text(given[name]) for name in names if _text(given.get(name))), "")


def _file(raw: JsonObject, own: tuple[str, str, str]) -> FilePart:
    url = _text(raw.get("url"))
    found = _DATA_URL.fullmatch(url)
    data = found[1] if found and _is_base64(found[1]) else None
    path = _text(raw.get("filename")) or url.removeprefix("file://")[:500]
    mime = _text(raw.get("mime")) or "application/octet-stream"
    return FilePart(
        id=own[0], session_id=own[1], message_id=own[2], mime=mime, path=path or None, data=data
    )


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True


def _usage(tokens: JsonObject) -> Usage:
    cache = _dict(tokens.get("cache"))
    read, written = _count(cache.get("read")), _count(cache.get("write"))
    reasoning = _count(tokens.get("reasoning"))
    return Usage(
        input=_count(tokens.get("input")) + read + written,
        output=_count(tokens.get("output")) + reasoning,
        reasoning=reasoning,
        cache_read=read,
        cache_write=written,
    )


def _error(error: JsonObject) -> ErrorInfo:
    message = _text(_dict(error.get("data")).get("message")) or _text(error.get("message"))
    name = _text(error.get("name")) or "error"
    return ErrorInfo(name, message or name)


def _finish(value: Json) -> Finish | None:
    for known in FINISHES:
        if known == value:
            return known
    return "other" if value else None


def _model(info: JsonObject) -> str:
    return f"{_text(info.get('providerID'))}/{_text(info.get('modelID'))}".strip("/") or "unknown"


def _seconds(value: Json) -> float:
    return (_number(value) or 0.0) / 1000


def _number(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _count(value: Json) -> int:
    return max(0, int(_number(value) or 0))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _dict(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _dicts(value: Json) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
