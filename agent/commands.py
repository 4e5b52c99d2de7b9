"""Custom slash commands and their templates.

A template is split before anything is filled in, so that the user's arguments are never run: only
the commands that its author marked are.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from agent.config.loading import LoadedConfig
from agent.records.errors import CommandError

Kind = Literal["built in", "command", "skill"]

REVIEW = """\
Review the changes of this project as a careful colleague would.

What to look at: $ARGUMENTS
If nothing stands there, look at what is not committed yet (git status, git diff, git diff
--staged, files that are not tracked); if there is nothing of that kind, at the newest commit.
If it is a commit, a branch or a pull request, look at that.

Read enough of the code around each change to know what it does. Look first for what is wrong:
behaviour that breaks, cases that are missed, errors that get lost, doors that are left open. Then
for what is needlessly hard to read. Leave taste alone. Give for each finding the file and line,
what happens and when, and how to mend it, the worst first; say so plainly if all is well.
"""

_SLASH = re.compile(r"/([A-Za-z][\w:-]*)(?:\s+(.*))?", re.DOTALL)
_SHELL = re.compile(r"!`([^`]+)`")
_PLACEHOLDER = re.compile(r"\$(ARGUMENTS\b|[1-9]\d?\b)")
_WORD = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\S+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandInfo:
    """One command."""

    name: str
    description: str
    template: str
    kind: Kind = "command"
    hint: str = ""
    agent: str | None = None
    """The agent that runs it, None for the current one."""
    model: str | None = None
    """The model that answers it, None for the current one."""
    effort: str | None = None
    """The model's reasoning effort, None for the current one."""
    subtask: bool | None = None
    """True if a sub-agent runs it, None if that depends on its agent."""
    source: str = ""
    """The file that defines it."""


@dataclass(frozen=True, slots=True)
class TemplatePart:
    """A part of a filled-in template: *text* to send, or a command whose output is sent."""

    kind: Literal["text", "shell"]
    text: str


BUILTIN_COMMANDS = (
    CommandInfo(
        name="review",
        description="Have a sub-agent review changes",
        template=REVIEW,
        kind="built in",
        hint="[commit, branch or pull request]",
        agent="general",
        subtask=True,
        source="built in",
    ),
)


def available_commands(loaded: LoadedConfig) -> tuple[CommandInfo, ...]:
    """Return the built-in commands and those of the settings, which win, sorted by name."""
    found = {known.name: known for known in BUILTIN_COMMANDS}
    for name, given in loaded.config.command.items():
        if given.template is None or not given.template.strip():
            continue
        found[name] = CommandInfo(
            name=name,
            description=" ".join((given.description or _first_line(given.template)).split()),
            template=given.template,
            hint=given.argument_hint or _hint(given.template),
            agent=given.agent,
            model=given.model,
            effort=given.effort,
            subtask=given.subtask,
            source=loaded.source_of(f"command.{name}."),
        )
    return tuple(found[name] for name in sorted(found))


def expand_template(template: str, argument: str) -> tuple[TemplatePart, ...]:
    """Fill *argument* into *template*: as a whole, or word by word.

    The last placeholder takes the remaining words. Without a placeholder the argument is appended.
    """
    words = [next(filter(None, found.groups()), "") for found in _WORD.finditer(argument)]
    numbers = [int(found[1]) for found in _PLACEHOLDER.finditer(template) if found[1].isdigit()]
    last = max(numbers, default=0)

    def filled(place: re.Match[str]) -> str:
        if not place[1].isdigit():
            return argument
        number = int(place[1])
        return " ".join(words[number - 1 :] if number == last else words[number - 1 : number])

    pieces: list[TemplatePart] = []
    start = 0
    for shell in _SHELL.finditer(template):
        pieces.append(
            TemplatePart("text", _PLACEHOLDER.sub(filled, template[start : shell.start()]))
        )
        pieces.append(TemplatePart("shell", _PLACEHOLDER.sub(filled, shell[1])))
        start = shell.end()
    pieces.append(TemplatePart("text", _PLACEHOLDER.sub(filled, template[start:])))
    if argument and not _PLACEHOLDER.search(template):
        pieces.append(TemplatePart("text", f"\n\n{argument}"))
    return tuple(piece for piece in pieces if piece.text)


def parse_slash(text: str) -> tuple[str, str] | None:
    """Return the name and the argument of a prompt that looks like a slash command.

    It can still be none: a path looks the same.
    """
    found = _SLASH.fullmatch(text.strip())
    return (found[1], (found[2] or "").strip()) if found else None


def unknown_command(name: str, known: Iterable[str]) -> CommandError:
    """Return the error for an unknown command."""
    names = ", ".join(f"/{each}" for each in sorted(known))
    return CommandError(f"There is no command /{name} here. There are: {names}.")


def _hint(template: str) -> str:
    return "[arguments]" if _PLACEHOLDER.search(template) else ""


def _first_line(template: str) -> str:
    lines = (line.strip().lstrip("#").strip() for line in template.splitlines())
    return next((line for line in lines if line), "")[:80]
