"""Which calls a hook is for. Hooks that were written for Claude Code know tools by its names."""

import re
from collections.abc import Iterator

CLAUDE_NAMES = {
    "bash": "Bash",
    "bash_output": "BashOutput",
    "bash_kill": "KillShell",
    "read": "Read",
    "write": "Write",
    "edit": "Edit",
    "multiedit": "MultiEdit",
    "apply_patch": "Edit",
    "glob": "Glob",
    "grep": "Grep",
    "list": "LS",
    "webfetch": "WebFetch",
    "websearch": "WebSearch",
    "task": "Task",
    "todowrite": "TodoWrite",
    "todoread": "TodoRead",
    "skill": "Skill",
    "question": "AskUserQuestion",
}
"""Tool here → its name there, for those whose arguments mean the same."""


def claude_name(tool: str) -> str:
    return CLAUDE_NAMES.get(tool, tool)


def matches(matcher: str, about: str) -> bool:
    """Whether *matcher* covers *about*, by its name here or there. One that is no regular
    expression is read as a name."""
    if matcher in {"", "*"}:
        return True
    try:
        pattern = re.compile(matcher, re.IGNORECASE)
    except re.error:
        return matcher.lower() in {name.lower() for name in _names(about)}
    return any(pattern.fullmatch(name) for name in _names(about))


def _names(about: str) -> Iterator[str]:
    yield about
    if about in CLAUDE_NAMES:
        yield CLAUDE_NAMES[about]
        return
    # An MCP tool is server_tool here and mcp__server__tool there.
    for at, char in enumerate(about):
        if char == "_":
            yield f"mcp__{about[:at]}__{about[at + 1 :]}"
