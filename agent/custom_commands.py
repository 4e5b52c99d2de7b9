"""Custom slash commands and their templates.

A template is split before anything is filled in, so that the user's arguments are never run: only
the commands that its author marked are. In such a command an argument is a quoted word, whatever it
holds.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from agent.config.loading import LoadedConfig
from agent.records.errors import CommandError
from agent.records.frozen import frozen

Kind = Literal["built in", "command", "skill"]

REVIEW = """\
Review the changes of this project as a careful colleague would.

What to look at: $ARGUMENTS
If nothing is named there, look at what is not committed yet (git status, git diff, git diff
--staged, files that are not tracked); if there is nothing of that kind, at the newest commit.
If it is a commit, a branch or a pull request, look at that.

Read enough of the code around each change to know what it does. Look first for what is wrong:
behavior that breaks, cases that are missed, errors that get lost, security holes. Then look for
what is needlessly hard to read. Ignore matters of taste. Give for each finding the file and line,
what happens and when, and how to fix it, the worst first; say so plainly if all is well.
"""

_SLASH = re.compile(r"/([A-Za-z][\w:./-]*)(?:\s+(.*))?", re.DOTALL)
_SHELL = re.compile(r"!`([^`]+)`")
_PLACEHOLDER = re.compile(r"\$(ARGUMENTS\b|[1-9]\d?\b)")
_WORD = re.compile(r"\"([^\"]*)\"|'([^']*)'|(\S+)")


@frozen(kw_only=True)
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


@frozen
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


def find_command(known: Sequence[CommandInfo], name: str) -> CommandInfo | None:
    """Return the command *name*. One in a folder is found by its last word too, if that is clear,
    and with colons, as Claude Code writes it."""
    wanted = name.replace(":", "/")
    exact = [each for each in known if each.name in {name, wanted}]
    ends = [each for each in known if each.name.endswith(f"/{wanted}")]
    return exact[0] if exact else ends[0] if len(ends) == 1 else None


def expand_template(template: str, argument: str, piped: str = "") -> tuple[TemplatePart, ...]:
    """Fill *argument* into *template*: as a whole, or word by word.

    The last placeholder takes the remaining words. Without a placeholder the argument is appended.
    Text that was *piped* in belongs to the argument, but not in commands of the template.

    Raises ``CommandError`` if a command has a placeholder where an argument would be code.
    """
    numbers = [int(found[1]) for found in _PLACEHOLDER.finditer(template) if found[1].isdigit()]
    last = max(numbers, default=0)

    def filling(argument: str) -> Callable[[str], str]:
        words = [next(filter(None, found.groups()), "") for found in _WORD.finditer(argument)]

        def filled(name: str) -> str:
            if not name.isdigit():
                return argument
            number = int(name)
            return " ".join(words[number - 1 :] if number == last else words[number - 1 : number])

        return filled

    whole = joined_texts(argument, piped)
    in_text, in_shell = filling(whole), filling(argument)
    pieces: list[TemplatePart] = []
    start = 0
    for shell in _SHELL.finditer(template):
        pieces.append(TemplatePart("text", _filled(template[start : shell.start()], in_text)))
        pieces.append(TemplatePart("shell", fill_command(shell[1], in_shell)))
        start = shell.end()
    pieces.append(TemplatePart("text", _filled(template[start:], in_text)))
    if whole and not _PLACEHOLDER.search(template):
        pieces.append(TemplatePart("text", f"\n\n{whole}"))
    return tuple(piece for piece in pieces if piece.text)


def joined_texts(*texts: str) -> str:
    """Return *texts* as paragraphs, without empty ones."""
    return "\n\n".join(text for text in texts if text.strip())


def _filled(text: str, value_of: Callable[[str], str]) -> str:
    return _PLACEHOLDER.sub(lambda place: value_of(place[1]), text)


def fill_command(code: str, value_of: Callable[[str], str]) -> str:
    """Fill the placeholders of the shell command *code*: each value is one word of it, or a part of
    the quoted text around it. Without quotes an empty value is no word.

    Raises ``CommandError`` for a value that would be run all the same, as in ``eval "$1"``.
    """
    unsafe = [
        place[0] for place in _PLACEHOLDER.finditer(code) if _UNSAFE.search(value_of(place[1]))
    ]
    if unsafe and _traces(code, "x") != _traces(code, "\n;probe;$(probe)\n"):
        raise CommandError(
            f"`{code}` was not run: it would run the text after the command as code. Pass "
            f"{unsafe[0]} to a program that does not run its arguments."
        )
    return _quoted_into(code, value_of)


_PRINTF = re.compile(r"\bprintf\b(?!\s+['\"]?-)")


def _traces(code: str, value: str) -> tuple[object, ...]:
    """Return what the analysis of *code* finds with *value* as its argument, as far as it differs
    if the argument is run."""
    from agent.permission.shell.analysis import analyze  # only commands with code need it

    # The analysis suspects any printf of evaluating its words; without -v none does.
    echoed = _PRINTF.sub("echo", code)
    found = analyze(_quoted_into(echoed, lambda _: value), directory="/", project="/")
    of_needs = ((need.strict, len(need.aliases) if need.strict else 0) for need in found.needs)
    return bool(found.problem), *of_needs


_UNSAFE = re.compile(r"[^\w@%+=:,./-]", re.ASCII)
_UNFOLLOWED = re.compile(r"(?<!<)<<(?!<)|\bcase\b|\$\[")
"""Code in which the quotes at a place are not followed."""
_QUOTED = {"plain": "{}", "double": '"{}"', "single": "'{}'"}
"""The quoted value, after the end of the quotes around it and before their new beginning."""


def _quoted_into(code: str, value_of: Callable[[str], str]) -> str:
    done: list[str] = []
    at = 0
    for place in _PLACEHOLDER.finditer(code):
        value = value_of(place[1])
        around = "" if _UNFOLLOWED.search(code) else _quotes_at(code[: place.start()])
        if around in _QUOTED and _UNSAFE.search(value):
            value = _QUOTED[around].format(shlex.quote(value))
        elif _UNSAFE.search(value):
            raise CommandError(
                f"`{code}` was not run: the shell would read {value[:40]!r} as code there. Use "
                "the placeholder as a word of its own, or in plain quotes."
            )
        done += [code[at : place.start()], value]
        at = place.end()
    return "".join((*done, code[at:]))


_OPENING = {"$((": "arithmetic", "((": "arithmetic", "$(": "plain", "${": "brace", "$'": "ansi"}


def _quotes_at(before: str) -> str:
    """Return the innermost state of a shell after the code *before*: plain, double, single, or
    another one."""
    stack = ["plain"]
    at = 0
    while at < len(before):
        state, char = stack[-1], before[at]
        opened = next((each for each in _OPENING if before.startswith(each, at)), "")
        at += 1
        if state in ("single", "ansi", "comment"):
            if char == "\\" and state == "ansi":
                at += 1
            elif char == ("\n" if state == "comment" else "'"):
                stack.pop()
        elif char == "\\":
            at += 1
        elif char == '"':
            if state == "double":
                stack.pop()
            else:
                stack.append("double")
        elif opened and not (state == "double" and opened in ("((", "$'")):
            stack += [_OPENING[opened]] * (2 if opened.endswith("((") else 1)
            at += len(opened) - 1
        elif state != "double":
            _take(char, before[at - 2 : at - 1], stack)
    return stack[-1]


def _take(char: str, previous: str, stack: list[str]) -> None:
    """Change the states by a character outside of quotes."""
    state = stack[-1]
    if char == "'":
        stack.append("single")
    elif char == "(":
        stack.append(state)
    elif (char == ")" and state != "brace") or (char == "}" and state == "brace"):
        if len(stack) > 1:
            stack.pop()
    elif char == "#" and state == "plain" and previous in ("", *" \t\n;&|("):
        stack.append("comment")


def parse_slash(text: str) -> tuple[str, str] | None:
    """Return the name and the argument of a prompt that looks like a slash command.

    It can still be none: a path looks the same.
    """
    found = _SLASH.fullmatch(text.strip())
    return (found[1], (found[2] or "").strip()) if found else None


def unknown_command(name: str, known: Iterable[str]) -> CommandError:
    """Return the error for an unknown command."""
    names = ", ".join(f"/{each}" for each in sorted(known))
    return CommandError(f"There is no command /{name} here. The commands are: {names}.")


def _hint(template: str) -> str:
    return "[arguments]" if _PLACEHOLDER.search(template) else ""


def _first_line(template: str) -> str:
    lines = (line.strip().lstrip("#").strip() for line in template.splitlines())
    return next((line for line in lines if line), "")[:80]
