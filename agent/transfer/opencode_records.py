"""Records from opencode's shapes, as exports, its HTTP API and its events have them.

Times there are milliseconds. Its input tokens exclude cached tokens and its output tokens exclude
reasoning; ours include both. Unknown values are ignored.
"""

import base64
import re
import time
from collections.abc import Iterator
from typing import TypedDict, get_args

from agent.records.blocks import (
    Block,
    DiffBlock,
    ShellBlock,
    SubtaskBlock,
    TextBlock,
    TodoBlock,
    TodoItem,
    ToolLabel,
)
from agent.records.ids import new_id
from agent.records.json import Json, JsonObject
from agent.records.messages import (
    AssistantMessage,
    Busy,
    CompactionPart,
    Completed,
    ErrorInfo,
    Failed,
    FilePart,
    Finish,
    Idle,
    Part,
    ReasoningPart,
    Retry,
    Running,
    Session,
    SessionStatus,
    StepFinishPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolPart,
    ToolState,
    Usage,
    UserMessage,
)
from agent.records.requests import (
    EvaluatedNeed,
    PermissionNeed,
    PermissionRequest,
    Question,
    QuestionOption,
)
from agent.tools.files.diffs import make_diff
from agent.tools.files.unified_diff import parse_unified_diff

FINISHES: tuple[Finish, ...] = get_args(Finish)

UNTITLED = "New session"
"""The beginning of the title of a session that has none."""

_DATA_URL = re.compile(r"data:[^,;]*(?:;[^,;]*)*;base64,(.*)", re.DOTALL)


class _Ids(TypedDict):
    id: str
    session_id: str
    message_id: str


def session_record(info: JsonObject, project: str = "") -> Session:
    """Return a session, of the *project* that its root names elsewhere."""
    times, model = dict_of(info.get("time")), dict_of(info.get("model"))
    title, tokens = text_of(info.get("title")), dict_of(info.get("tokens"))
    usage = usage_record(tokens)
    used = bool(title and not title.startswith(UNTITLED)) or usage != Usage()
    named = {"providerID": model.get("providerID"), "modelID": model.get("id")}
    directory = text_of(info.get("directory"))
    return Session(
        id=text_of(info.get("id")),
        directory=directory,
        project=project or directory,
        title="" if title.startswith(UNTITLED) else title,
        created=seconds_of(times.get("created")),
        updated=seconds_of(times.get("updated")),
        parent_id=text_of(info.get("parentID")) or None,
        agent=text_of(info.get("agent")) or "build",
        model=model_name(named) if model else None,
        effort=_effort(model),
        archived="archived" in times,
        pinned=bool(info.get("pinned")),
        usage=usage,
        cost=number_of(info.get("cost")),
        turns=int(used),
        undone_at=text_of(dict_of(info.get("revert")).get("messageID")) or None,
    )


def user_record(info: JsonObject, session_id: str, message_id: str, turn_id: str) -> UserMessage:
    model = dict_of(info.get("model")) or info
    queued = text_of(info.get("queued"))
    return UserMessage(
        id=message_id,
        session_id=session_id,
        created=seconds_of(dict_of(info.get("time")).get("created")),
        agent=text_of(info.get("agent")) or "build",
        model=model_name(model),
        effort=_effort(model),
        turn_id=None if queued else turn_id,
        delivery="follow_up" if queued == "follow_up" else "steer",
        pinned=bool(info.get("pinned")),
    )


def assistant_record(
    info: JsonObject, session_id: str, message_id: str, parent_id: str, turn_id: str, step: int
) -> AssistantMessage:
    times, tokens = dict_of(info.get("time")), dict_of(info.get("tokens"))
    error = dict_of(info.get("error"))
    aborted = "Abort" in text_of(error.get("name"))
    completed = times.get("completed")
    return AssistantMessage(
        id=message_id,
        session_id=session_id,
        created=seconds_of(times.get("created")),
        parent_id=parent_id,
        turn_id=turn_id,
        step=step,
        agent=text_of(info.get("agent")) or text_of(info.get("mode")) or "build",
        model=model_name(info),
        completed=None if completed is None else seconds_of(completed),
        finish=_finish(info.get("finish")),
        usage=usage_record(tokens) if tokens else None,
        cost=number_of(info.get("cost")),
        error=error_record(error) if error and not aborted else None,
        interrupted=aborted,
        pinned=bool(info.get("pinned")),
    )


def part_record(raw: JsonObject, session_id: str, message_id: str, part_id: str) -> Part | None:
    """Return a part under these ids, None for one that is not shown."""
    own = _Ids(id=part_id, session_id=session_id, message_id=message_id)
    times = dict_of(raw.get("time"))
    started = seconds_of(times.get("start"))
    ended = None if "start" in times and "end" not in times else seconds_of(times.get("end"))
    match raw.get("type"):
        case "text":
            return TextPart(
                **own,
                text=text_of(raw.get("text")),
                started=started,
                ended=ended,
                synthetic=bool(raw.get("synthetic")),
                ignored=bool(raw.get("ignored")),
            )
        case "reasoning":
            return ReasoningPart(**own, text=text_of(raw.get("text")), started=started, ended=ended)
        case "file":
            return _file(raw, own)
        case "tool":
            tool = text_of(raw.get("tool"))
            return ToolPart(
                **own,
                call_id=text_of(raw.get("callID")) or new_id("cal"),
                tool=tool,
                state=_state(tool, dict_of(raw.get("state"))),
            )
        case _:
            return _rare_part(raw, own)


def _rare_part(raw: JsonObject, own: _Ids) -> Part | None:
    match raw.get("type"):
        case "step-start":
            return StepStartPart(**own)
        case "step-finish":
            return StepFinishPart(
                **own,
                finish=_finish(raw.get("reason")),
                usage=usage_record(dict_of(raw.get("tokens"))),
                cost=number_of(raw.get("cost")),
            )
        case "compaction":
            summary = text_of(raw.get("summary"))
            return CompactionPart(**own, summary=summary, auto=bool(raw.get("auto")))
        case "subtask":
            return SubtaskPart(
                **own,
                agent=text_of(raw.get("agent")),
                description=text_of(raw.get("description")),
                prompt=text_of(raw.get("prompt")),
            )
        case _:
            return None


def _state(tool: str, state: JsonObject) -> ToolState:
    given, times = dict_of(state.get("input")), dict_of(state.get("time"))
    started, ended = seconds_of(times.get("start")), seconds_of(times.get("end"))
    label = ToolLabel(tool.capitalize(), text_of(state.get("title")) or _subject(given))
    output, more = text_of(state.get("output")), dict_of(state.get("metadata"))
    match state.get("status"):
        case "completed":
            exit_code = number_of(more.get("exit"))
            return Completed(
                input=given,
                label=label,
                started=started,
                ended=ended or started,
                output=output,
                blocks=tuple(_blocks(tool, given, output, more)),
                exit_code=None if exit_code is None else int(exit_code),
            )
        case "error":
            return Failed(
                error=text_of(state.get("error")) or "The call failed.",
                kind="error",
                started=started,
                ended=ended or started,
                input=given,
                label=label,
            )
        case _:
            live = text_of(more.get("output"))
            return Running(
                input=given,
                label=label,
                started=started,
                blocks=tuple(_blocks(tool, given, live, more)),
                output=live,
            )


def _blocks(tool: str, given: JsonObject, output: str, more: JsonObject) -> Iterator[Block]:
    diffs = tuple(_diffs(more))
    yield from diffs
    if tool == "bash":
        exit_code = number_of(more.get("exit"))
        code = None if exit_code is None else int(exit_code)
        yield ShellBlock(text_of(given.get("command")), output, code)
    elif tool == "todowrite":
        yield TodoBlock(todos_record(given.get("todos")))
    elif child := text_of(more.get("sessionId")):
        agent = text_of(given.get("subagent_type"))
        yield SubtaskBlock(child, agent, text_of(given.get("prompt")), text=output)
    elif output and not diffs and tool != "read":
        yield TextBlock(output)


def _diffs(more: JsonObject) -> Iterator[DiffBlock]:
    """Yield the changes of a call: from the texts before and after, else from its diff."""
    found = False
    for file in dicts_of(more.get("files")) or [dict_of(more.get("filediff"))]:
        path = text_of(file.get("file")) or text_of(file.get("filePath"))
        before, after = file.get("before"), file.get("after")
        if path and isinstance(before, str) and isinstance(after, str):
            found = True
            yield make_diff(path, before, after, "modify" if before else "create").block
    if not found:
        diff, path = text_of(more.get("diff")), text_of(more.get("filepath"))
        yield from (file.block for file in parse_unified_diff(diff, path))


def todos_record(items: Json) -> tuple[TodoItem, ...]:
    return tuple(_todo(item) for item in dicts_of(items))


def _todo(item: JsonObject) -> TodoItem:
    status = text_of(item.get("status"))
    match status:
        case "in_progress" | "completed" | "cancelled":
            return TodoItem(text_of(item.get("content")), status)
        case _:
            return TodoItem(text_of(item.get("content")))


def status_record(status: JsonObject) -> SessionStatus:
    match status.get("type"):
        case "busy":
            return Busy(time.time())
        case "retry":
            attempt, message = count_of(status.get("attempt")), text_of(status.get("message"))
            return Retry(attempt, message, seconds_of(status.get("next")))
        case _:
            return Idle()


HEADINGS = {
    "bash": "Run this command?",
    "edit": "Make this change?",
    "read": "Read this file?",
    "webfetch": "Fetch this page?",
}
"""Headings of permission requests without one, by permission."""


def permission_record(raw: JsonObject, root_id: str) -> PermissionRequest:
    """Return a permission request of the session tree *root_id*."""
    more, permission = dict_of(raw.get("metadata")), text_of(raw.get("permission"))
    patterns = texts_of(raw.get("patterns"))
    blocks: list[Block] = [*_diffs(more)]
    if permission == "bash":
        blocks.append(ShellBlock(text_of(more.get("command")) or "\n".join(patterns)))
    reason, call = text_of(more.get("reason")), dict_of(raw.get("tool"))
    return PermissionRequest(
        id=text_of(raw.get("id")),
        session_id=text_of(raw.get("sessionID")),
        root_id=root_id,
        message_id=text_of(call.get("messageID")),
        call_id=text_of(call.get("callID")),
        agent="",
        tool=permission,
        heading=text_of(more.get("heading")) or HEADINGS.get(permission, f"Allow {permission}?"),
        folder=text_of(more.get("folder")),
        blocks=tuple(blocks),
        needs=tuple(
            EvaluatedNeed(PermissionNeed(permission, each, reason=reason), "ask", "")
            for each in patterns
        ),
        always=tuple((permission, each) for each in texts_of(raw.get("always"))),
        created=time.time(),
    )


def question_records(raw: JsonObject, root_id: str) -> tuple[Question, ...]:
    """Return the questions of one request, all under its id."""
    asked = dicts_of(raw.get("questions"))
    return tuple(
        Question(
            id=text_of(raw.get("id")),
            session_id=text_of(raw.get("sessionID")),
            root_id=root_id,
            header=text_of(one.get("header")),
            text=text_of(one.get("question")),
            options=tuple(
                QuestionOption(text_of(each.get("label")), text_of(each.get("description")))
                for each in dicts_of(one.get("options"))
            ),
            multiple=bool(one.get("multiple")),
            number=number,
            total=len(asked),
        )
        for number, one in enumerate(asked, 1)
    )


def usage_record(tokens: JsonObject) -> Usage:
    cache = dict_of(tokens.get("cache"))
    read, written = count_of(cache.get("read")), count_of(cache.get("write"))
    reasoning = count_of(tokens.get("reasoning"))
    return Usage(
        input=count_of(tokens.get("input")) + read + written,
        output=count_of(tokens.get("output")) + reasoning,
        reasoning=reasoning,
        cache_read=read,
        cache_write=written,
    )


def error_record(error: JsonObject) -> ErrorInfo:
    message = text_of(dict_of(error.get("data")).get("message")) or text_of(error.get("message"))
    name = text_of(error.get("name")) or "error"
    return ErrorInfo(name, message or name)


def model_name(info: JsonObject) -> str:
    provider, model = text_of(info.get("providerID")), text_of(info.get("modelID"))
    return f"{provider}/{model}".strip("/") or "unknown"


def seconds_of(value: Json) -> float:
    return (number_of(value) or 0.0) / 1000


def number_of(value: Json) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def count_of(value: Json) -> int:
    return max(0, int(number_of(value) or 0))


def text_of(value: Json) -> str:
    return value if isinstance(value, str) else ""


def texts_of(value: Json) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def dict_of(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else {}


def dicts_of(value: Json) -> list[JsonObject]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _effort(model: JsonObject) -> str | None:
    variant = text_of(model.get("variant"))
    return None if variant in {"", "default"} else variant


def _finish(value: Json) -> Finish | None:
    for known in FINISHES:
        if known == value:
            return known
    return "other" if value else None


def _subject(given: JsonObject) -> str:
    names = ("filePath", "path", "command", "pattern", "url", "query", "description", "name")
    return next((text_of(given[name]) for name in names if text_of(given.get(name))), "")


def _file(raw: JsonObject, own: _Ids) -> FilePart:
    url = text_of(raw.get("url"))
    found = _DATA_URL.fullmatch(url)
    data = found[1] if found and _is_base64(found[1]) else None
    path = text_of(raw.get("filename")) or url.removeprefix("file://")[:500]
    mime = text_of(raw.get("mime")) or "application/octet-stream"
    return FilePart(**own, mime=mime, path=path or None, data=data)


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except ValueError:
        return False
    return True
