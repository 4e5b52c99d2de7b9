"""The messages of a session as JSON lines in Claude Code's form, which hooks read."""

import json
import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from agent.records.json import Json, JsonObject
from agent.records.messages import (
    AssistantMessage,
    Completed,
    Failed,
    MessageWithParts,
    Pending,
    ReasoningPart,
    TextPart,
    ToolPart,
)
from agent.records.tool_facts import claude_name_of
from agent.redact import without_known_secrets


def write_transcript(path: Path, messages: Sequence[MessageWithParts], directory: str) -> None:
    """Write *messages* of a session in *directory* to *path*, readable by the user alone. Raises
    ``OSError``."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        for item in messages:
            for line in _lines(item, directory):
                file.write(without_known_secrets(json.dumps(line)) + "\n")


def _lines(item: MessageWithParts, directory: str) -> Iterator[JsonObject]:
    """Yield the lines of a message: its content, and then the results of its calls."""
    message = item.message
    content: list[Json] = []
    results: list[Json] = []
    for part in item.parts:
        match part:
            case TextPart(synthetic=False, text=text) if text:
                content.append({"type": "text", "text": text})
            case ReasoningPart(text=text) if text:
                content.append({"type": "thinking", "thinking": text})
            case ToolPart(state=state) if not isinstance(state, Pending):
                name = claude_name_of(part.tool) or part.tool
                call: JsonObject = {"type": "tool_use", "id": part.call_id, "name": name}
                content.append({**call, "input": state.input or {}})
                if isinstance(state, Completed | Failed):
                    failed = isinstance(state, Failed)
                    output = state.error if isinstance(state, Failed) else state.output
                    result: JsonObject = {"type": "tool_result", "tool_use_id": part.call_id}
                    results.append({**result, "content": output, "is_error": failed})
            case _:
                pass
    common: JsonObject = {
        "sessionId": message.session_id,
        "cwd": directory,
        "timestamp": datetime.fromtimestamp(message.created, UTC).isoformat(),
    }
    if content:
        sent: JsonObject = {"role": message.role, "content": content}
        if isinstance(message, AssistantMessage):
            sent["model"] = message.model
        yield {"type": message.role, "uuid": message.id, "message": sent, **common}
    if results:
        answer: JsonObject = {"role": "user", "content": results}
        yield {"type": "user", "uuid": f"{message.id}-results", "message": answer, **common}
