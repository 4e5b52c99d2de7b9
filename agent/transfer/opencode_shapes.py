"""Our records in the JSON shapes of opencode: what its clients and readers of its output expect.

Times there are milliseconds. Its input tokens exclude cached tokens and its output tokens exclude
reasoning; ours include both. Shapes follow payloads recorded from opencode 1.18.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

from agent.records.blocks import (
    DiffBlock,
    ShellBlock,
    SubtaskBlock,
    TableBlock,
    TodoBlock,
    TodoItem,
)
from agent.records.context_parts import CompactionPart, ContextPart, ReportPart
from agent.records.json import Json, JsonObject
from agent.records.labels import label_of
from agent.records.messages import (
    AgentPart,
    AssistantMessage,
    Busy,
    Completed,
    ErrorInfo,
    Failed,
    FilePart,
    Idle,
    Message,
    MessageWithParts,
    Part,
    PatchPart,
    Pending,
    ReasoningPart,
    Retry,
    RetryPart,
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
)
from agent.records.requests import FormField, PermissionReply, PermissionRequest, Question
from agent.transfer.bundle import diff_text
from agent.transfer.record_json import record_json, record_of


def milliseconds(when: float) -> int:
    return round(when * 1000)


def project_id(project: str) -> str:
    """Return a stable id of the project at the path *project*."""
    return hashlib.sha1(project.encode(), usedforsecurity=False).hexdigest()


def session_shape(session: Session, version: str) -> JsonObject:
    """Return a session as ``GET /session/{id}`` gives it. *version* is the program's."""
    times: JsonObject = {
        "created": milliseconds(session.created),
        "updated": milliseconds(session.updated),
    }
    shape: JsonObject = {
        "id": session.id,
        "slug": session.id,
        "version": version,
        "projectID": project_id(session.project),
        "directory": session.directory,
        "path": _path_in(session.directory, session.project),
        "title": session.title or "New session",
        "agent": session.agent,
        "cost": session.cost or 0,
        "tokens": tokens_shape(session.usage),
        "time": times,
    }
    if session.parent_id is not None:
        shape["parentID"] = session.parent_id
    if session.model is not None:
        shape["model"] = {
            "id": _model_name(session.model),
            "providerID": _provider(session.model),
            "variant": session.effort or "default",
        }
    if session.undone_at is not None:
        shape["revert"] = {"messageID": session.undone_at}
    if session.archived:
        times["archived"] = milliseconds(session.updated)
    # opencode has no such key, nor the one of a message.
    return shape | ({"pinned": True} if session.pinned else {})


def _path_in(directory: str, project: str) -> str:
    """Return the path of a folder within its project, "" for its root and for another folder."""
    inside = Path(directory).is_relative_to(project)
    return str(Path(directory).relative_to(project)).removeprefix(".") if inside else ""


def tokens_shape(usage: Usage | None) -> JsonObject:
    usage = usage or Usage()
    return {
        "total": usage.input + usage.output,
        "input": max(0, usage.input - usage.cache_read - usage.cache_write),
        "output": max(0, usage.output - usage.reasoning),
        "reasoning": usage.reasoning,
        "cache": {"read": usage.cache_read, "write": usage.cache_write},
    }


def message_shape(message: Message, directory: str, project: str) -> JsonObject:
    """Return the ``info`` of a message of a session in *directory* of *project*."""
    shape: JsonObject = {
        "id": message.id,
        "sessionID": message.session_id,
        "role": message.role,
        "time": {"created": milliseconds(message.created)},
        "agent": message.agent,
        **({"pinned": True} if message.pinned else {}),
    }
    model: JsonObject = {
        "providerID": _provider(message.model),
        "modelID": _model_name(message.model),
    }
    if not isinstance(message, AssistantMessage):
        shape["model"] = model
        # opencode has no such key: its own clients see the message as sent.
        return shape if message.turn_id is not None else shape | {"queued": message.delivery}
    own: JsonObject = {
        "parentID": message.parent_id,
        "mode": message.agent,
        "path": {"cwd": directory, "root": project},
        "cost": message.cost or 0,
        "tokens": tokens_shape(message.usage),
    }
    shape |= model | own
    if message.completed is not None:
        shape["time"] = {
            "created": milliseconds(message.created),
            "completed": milliseconds(message.completed),
        }
    if message.finish is not None:
        shape["finish"] = message.finish
    error = message.error or (ErrorInfo("aborted", "Aborted") if message.interrupted else None)
    if error is not None:
        shape["error"] = error_shape(error)
    return shape


def messages_shape(
    messages: Iterable[MessageWithParts], directory: str, project: str
) -> list[Json]:
    """Return *messages*, each prompt of them with a summary of the edits of its turn."""
    messages = tuple(messages)
    edits = turn_edits(messages)
    found: list[Json] = []
    for item in messages:
        shape = message_with_parts_shape(item, directory, project)
        if item.message.role == "user" and item.message.turn_id in edits:
            info: JsonObject = {"summary": {"diffs": edits.pop(item.message.turn_id)}}
            shape["info"] = message_shape(item.message, directory, project) | info
        found.append(shape)
    return found


def turn_edits(messages: Iterable[MessageWithParts]) -> dict[str, list[Json]]:
    """Return the files that tools edited in each turn, with their changes in order."""
    found: dict[str, dict[str, JsonObject]] = {}
    for item in messages:
        for part in item.parts:
            state = part.state if isinstance(part, ToolPart) else None
            for block in state.blocks if isinstance(state, Completed) else ():
                if isinstance(block, DiffBlock) and item.message.turn_id is not None:
                    files = found.setdefault(item.message.turn_id, {})
                    files[block.path] = _joined(files.get(block.path), file_diff_shape(block))
    return {turn: [*files.values()] for turn, files in found.items()}


def _joined(before: JsonObject | None, after: JsonObject) -> JsonObject:
    """Return two changes of a file as one."""
    if before is None:
        return after
    summed: JsonObject = {
        key: cast("int", before[key]) + cast("int", after[key])
        for key in ("additions", "deletions")
    }
    patch = f"{before['patch']}{after['patch']}"
    status = "added" if before["status"] == "added" else after["status"]
    return after | summed | {"patch": patch, "status": status}


def message_with_parts_shape(item: MessageWithParts, directory: str, project: str) -> JsonObject:
    parts: list[Json] = [shape for part in item.parts if (shape := part_shape(part)) is not None]
    return {"info": message_shape(item.message, directory, project), "parts": parts}


_ERROR_NAMES: Mapping[str, str] = {
    "auth": "ProviderAuthError",
    "MissingKey": "ProviderAuthError",
    "overflow": "ContextOverflowError",
    **dict.fromkeys(("aborted", "cancelled"), "MessageAbortedError"),
    **dict.fromkeys(
        ("rate_limit", "overloaded", "quota", "content_filter", "invalid_request", "network"),
        "APIError",
    ),
}

_RETRYABLE = frozenset({"rate_limit", "overloaded", "network"})


def error_shape(error: ErrorInfo) -> JsonObject:
    """Return a failure under the name that clients choose their reaction by."""
    name = _ERROR_NAMES.get(error.kind, "UnknownError")
    data: JsonObject = {"message": error.message}
    if name == "APIError":
        data["isRetryable"] = error.kind in _RETRYABLE
    elif name == "ProviderAuthError":
        data["providerID"] = ""
    return {"name": name, "data": data}


def part_shape(part: Part) -> JsonObject | None:
    """Return a part; None for context that no client shows."""
    body = _part_body(part)
    if body is None:
        return None
    head: JsonObject = {
        "id": part.id,
        "sessionID": part.session_id,
        "messageID": part.message_id,
    }
    return head | body


def _part_body(part: Part) -> JsonObject | None:
    match part:
        case TextPart():
            return _text_body(part)
        case ReasoningPart():
            return {"type": "reasoning", "text": part.text, "time": _span(part.started, part.ended)}
        case ToolPart():
            state = tool_state_shape(part)
            return {"type": "tool", "callID": part.call_id, "tool": part.tool, "state": state}
        case FilePart():
            return _file_body(part)
        case StepStartPart():
            return {"type": "step-start", "snapshot": part.snapshot or ""}
        case StepFinishPart():
            return {
                "type": "step-finish",
                "reason": part.finish or "other",
                "snapshot": part.snapshot or "",
                "cost": part.cost or 0,
                "tokens": tokens_shape(part.usage),
            }
        case PatchPart():
            return {"type": "patch", "hash": part.base, "files": list(part.files)}
        case _:
            return _rare_part_body(part)


def _rare_part_body(part: Part) -> JsonObject | None:
    match part:
        case CompactionPart():
            return {"type": "compaction", "auto": part.auto, "summary": part.summary}
        case SubtaskPart():
            return {
                "type": "subtask",
                "agent": part.agent,
                "description": part.description,
                "prompt": part.prompt,
            }
        case RetryPart():
            return {
                "type": "retry",
                "attempt": part.attempt,
                "error": {
                    "name": "APIError",
                    "data": {"message": part.error.message, "isRetryable": True},
                },
                "time": {"created": milliseconds(part.created)},
            }
        case AgentPart():
            return {"type": "agent", "name": part.name}
        case ReportPart():
            return {"type": "text", "text": part.text, "synthetic": True}
        case ContextPart() | _:
            return None


def _text_body(part: TextPart) -> JsonObject:
    body: JsonObject = {"type": "text", "text": part.text}
    if part.started:
        body["time"] = _span(part.started, part.ended)
    return body | {flag: True for flag in ("synthetic", "ignored") if getattr(part, flag)}


def _file_body(part: FilePart) -> JsonObject:
    url = f"data:{part.mime};base64,{part.data}" if part.data is not None else f"file://{part.path}"
    body: JsonObject = {"type": "file", "mime": part.mime, "url": url}
    return body | ({"filename": part.path.rpartition("/")[2]} if part.path else {})


def tool_state_shape(part: ToolPart) -> JsonObject:
    """Return the state of a call: ``pending``, ``running``, ``completed`` or ``error``."""
    state = part.state
    match state:
        case Pending():
            return {"status": "pending", "input": {}, "raw": state.raw}
        case Running():
            shape: JsonObject = {
                "status": "running",
                "input": input_shape(state.input),
                "title": _title(part),
                "time": {"start": milliseconds(state.started)},
            }
            if metadata := _metadata(state):
                shape["metadata"] = metadata
            return shape
        case Completed():
            time: JsonObject = _span(state.started, state.ended)
            if state.compacted is not None:
                time["compacted"] = milliseconds(state.compacted)
            return {
                "status": "completed",
                "input": input_shape(state.input),
                "output": state.output,
                "title": _title(part),
                "metadata": _metadata(state)
                | _answers(part.tool, state)
                | {"truncated": state.spill is not None},
                "time": time,
            }
        case Failed():
            return {
                "status": "error",
                "input": input_shape(state.input or {}),
                "error": state.error,
                "metadata": _metadata(state),
                "time": _span(state.started, state.ended),
            }


def input_shape(arguments: JsonObject) -> JsonObject:
    """Return a call's arguments under the names that opencode's tools use."""
    return {_camel(key): value for key, value in arguments.items()}


def _camel(key: str) -> str:
    """Return an argument's name as opencode spells it, such as ``filePath``."""
    if key == "subagent_type":
        return key
    first, *rest = key.split("_")
    return first + "".join(map(str.capitalize, rest))


def _title(part: ToolPart) -> str:
    label = label_of(part)
    return " ".join(f"{label.object} {label.note}".split())


def _metadata(state: ToolState) -> JsonObject:
    """Return the output, diff and sub-session of a call, from its display blocks."""
    found: JsonObject = {}
    if isinstance(state, Running) and state.output:
        found["output"] = state.output
    if isinstance(state, Completed) and state.exit_code is not None:
        found |= {"exit": state.exit_code, "output": state.output}
    for block in () if isinstance(state, Pending) else state.blocks:
        match block:
            case ShellBlock():
                found.setdefault("output", block.output)
            case SubtaskBlock():
                found["sessionId"] = block.session_id
            case DiffBlock():
                found |= diff_metadata([block])
            case TodoBlock():
                found["todos"] = todos_shape(block.items)
            case _:
                pass
    return found


def _answers(tool: str, state: Completed) -> JsonObject:
    """Return the answers to the questions of a call, each as a list."""
    tables = [block for block in state.blocks if isinstance(block, TableBlock)]
    if tool != "question" or not tables:
        return {}
    asked = state.input.get("questions")
    several = [
        bool(cast("JsonObject", one).get("multiple")) if isinstance(one, dict) else False
        for one in (asked if isinstance(asked, list) else [])
    ]
    given = zip(tables[0].rows, several, strict=False)
    answers: list[Json] = [[*row[1].split(", ")] if many else [row[1]] for row, many in given]
    return {"answers": answers}


def diff_metadata(blocks: Iterable[DiffBlock]) -> JsonObject:
    """Return the path and the unified diff of a change, as permission dialogs show them."""
    blocks = tuple(blocks)
    return {"filepath": blocks[0].path, "diff": "".join(map(_patch, blocks))}


def file_diff_shape(block: DiffBlock) -> JsonObject:
    """Return one changed file of a session."""
    status = {"create": "added", "delete": "deleted"}.get(block.change, "modified")
    return {
        "file": block.path,
        "patch": _patch(block),
        "additions": block.added,
        "deletions": block.removed,
        "status": status,
    }


def _patch(block: DiffBlock) -> str:
    """Return a change as ``patch`` reads it: editors apply it to show both sides."""
    head = (f"--- a/{block.moved_from or block.path}", f"+++ b/{block.path}")
    return "".join(f"{line}\n" for line in (*head, *diff_text(replace(block, omitted=0))))


def status_shape(status: SessionStatus) -> JsonObject:
    match status:
        case Idle():
            return {"type": "idle"}
        case Busy():
            return {"type": "busy"}
        case Retry():
            return {
                "type": "retry",
                "attempt": status.attempt,
                "message": status.message,
                "next": milliseconds(status.next_at),
            }


def permission_shape(request: PermissionRequest, project: str) -> JsonObject:
    """Return a permission request of *project* with what a client needs to show what would
    happen. The path of a changed file is absolute: an editor opens it from any folder."""
    asked = [each.need for each in request.needs if each.action == "ask"]
    needs = asked or [each.need for each in request.needs]
    metadata: JsonObject = {"heading": request.heading}
    diffs = [block for block in request.blocks if isinstance(block, DiffBlock)]
    if diffs:
        metadata |= diff_metadata(diffs)
        metadata["filepath"] = str(Path(project, diffs[0].path))
    for block in request.blocks:
        if isinstance(block, ShellBlock):
            metadata["command"] = block.command
    if request.folder:
        metadata["folder"] = request.folder
    if reasons := [need.reason for need in needs if need.reason]:
        metadata["reason"] = "; ".join(dict.fromkeys(reasons))
    metadata[REQUEST_KEY] = request_json(request)
    return {
        "id": request.id,
        "sessionID": request.session_id,
        "permission": needs[0].permission if needs else request.tool,
        "patterns": list(dict.fromkeys(need.shown or need.pattern for need in needs)),
        "metadata": metadata,
        "always": [pattern for _, pattern in request.always],
        "tool": {"messageID": request.message_id, "callID": request.call_id},
    }


def permission_reply_shape(reply: PermissionReply | None) -> str:
    return reply.answer if reply is not None else "reject"


def question_shape(question: Question) -> JsonObject:
    """Return a question as a request with one question, a form as one with a question per
    field."""
    asked: list[Json] = [_field_shape(question, each) for each in question.fields]
    if not asked:
        options: list[Json] = [
            {"label": option.label, "description": option.description}
            for option in question.options
        ]
        asked = [_asked(question, question.text, options, question.multiple)]
    shape: JsonObject = {
        "id": question.id,
        "sessionID": question.session_id,
        "questions": asked,
    }
    if question.call_id:
        shape["tool"] = {"messageID": question.message_id, "callID": question.call_id}
    return shape


def _field_shape(question: Question, field: FormField) -> JsonObject:
    """Return a field of a form; the first of them tells what the form is for."""
    default = ", ".join(field.default)
    facts = f"default {default}" if default else "required" if field.required else "optional"
    intro = f"{question.text}\n" if field is question.fields[0] else ""
    note = f": {field.note}" if field.note else ""
    options: list[Json] = [{"label": label, "description": ""} for label in field.choices]
    text = f"{intro}{field.label}{note} ({facts})"
    return _asked(question, text, options, field.multiple) | {"custom": not options}


def _asked(question: Question, text: str, options: list[Json], multiple: bool) -> JsonObject:
    return {
        "question": text,
        "header": question.header,
        "options": options,
        "multiple": multiple,
        "custom": True,
    }


def todos_shape(items: Iterable[TodoItem]) -> list[Json]:
    return [
        {
            "id": str(number),
            "content": item.content,
            "status": item.status,
            "priority": item.priority,
        }
        for number, item in enumerate(items, 1)
    ]


def _provider(model: str) -> str:
    return model.partition("/")[0]


def _model_name(model: str) -> str:
    return model.partition("/")[2]


def _span(start: float, end: float | None) -> JsonObject:
    span: JsonObject = {"start": milliseconds(start)}
    return span if end is None else span | {"end": milliseconds(end)}


# Whole permission requests within opencode's shape of them, for clients that are this program.

REQUEST_KEY = "opencodePyRequest"
"""The key in the metadata of a request."""


def request_json(request: PermissionRequest) -> Json:
    return record_json(PermissionRequest, request)


def request_in(metadata: JsonObject) -> PermissionRequest | None:
    """Return the request in *metadata*, None if there is none, or one of another version."""
    if REQUEST_KEY not in metadata:
        return None
    try:
        return record_of(PermissionRequest, metadata[REQUEST_KEY])
    except ValueError:
        return None
