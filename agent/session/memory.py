"""The memory of a project: lines in its instruction file that the user accepted.

The agent proposes lines when it is asked to. Nothing is written before the user has seen the
change as a diff. The origin of each line is kept beside the file.
"""

import re
from collections.abc import Mapping

from agent.records.errors import SessionNotFound
from agent.records.memory import MemoryLine, MemoryOrigin
from agent.records.requests import PermissionReply
from agent.redact import without_known_secrets
from agent.session.prompt.instruction_editor import InstructionDraft, InstructionEditor
from agent.session.quick_question import QuickQuestions
from agent.store import queries, writes
from agent.store.store import Store

MAX_LINES = 5
MAX_LENGTH = 300
"""Characters of a proposed line."""

REQUEST = (
    "Propose what later sessions should know about this project: facts, commands, conventions and "
    "wishes of the user that came up in this session, are likely to stay true, and are not in the "
    f"instructions yet. Answer with at most {MAX_LINES} lines, each beginning with “- ” and with "
    "one fact that can be understood on its own. Leave out secrets and details of the present "
    "task. If there is nothing, answer with the word none."
)
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(.*\S)\s*")


async def propose(
    questions: QuickQuestions, editor: InstructionEditor, session_id: str
) -> tuple[str, ...]:
    """Return the lines that the agent would remember from a session, without those that the file
    has. Raises what ``QuickQuestions.ask`` raises."""
    answer = "".join([piece async for piece in questions.ask(session_id, REQUEST)])
    _, text = await editor.read()
    known = {_content(line) for line in text.splitlines()}
    found = (match[1] for line in answer.splitlines() if (match := _ITEM.fullmatch(line)))
    lines = dict.fromkeys(" ".join(line.split())[:MAX_LENGTH] for line in found)
    return tuple(without_known_secrets(line) for line in lines if line not in known)[:MAX_LINES]


async def write_lines(
    store: Store,
    editor: InstructionEditor,
    draft: InstructionDraft,
    reply: PermissionReply,
    origins: Mapping[str, MemoryOrigin],
) -> str:
    """Write the part of the change that *reply* accepts, and the *origins* of its lines; return the
    name of the file. Raises ``ToolError``."""
    name = await editor.write(draft, reply)
    path, text = await editor.read()
    there = {_content(line) for line in text.splitlines()}
    written = {line: origin for line, origin in origins.items() if line in there}
    await store.write(writes.save_memory_origins, path, written)
    return name


async def memory_lines(store: Store, editor: InstructionEditor) -> tuple[str, list[MemoryLine]]:
    """Return the path of the memory file, and its lines with their origins."""
    path, text = await editor.read()
    origins = await store.read(queries.memory_origins, path)
    titles: dict[str, str] = {}
    for session_id in {origin.session_id for origin in origins.values() if origin.session_id}:
        try:
            titles[session_id] = (await store.session(session_id)).title or "Untitled"
        except SessionNotFound:
            continue
    lines: list[MemoryLine] = []
    for line in text.splitlines():
        if line.strip():
            origin = origins.get(_content(line))
            title = titles.get(origin.session_id, "") if origin is not None else ""
            lines.append(MemoryLine(line, origin, title))
    return path, lines


def _content(line: str) -> str:
    """Return the text of a list item, any other line as it is."""
    match = _ITEM.fullmatch(line)
    return match[1] if match is not None else line.strip()
