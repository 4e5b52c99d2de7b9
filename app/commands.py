"""The action registry (spec 8, U13): one decorated function is a slash command, a palette
entry, a key and a row of the help.

    @action("session.new", "New session", slash=("new", "clear"), keys=("<leader>n",))
    async def new(context: Context, argument: str) -> None: ...
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from app.context import Context

Handler = Callable[[Context, str], Awaitable[None]]
Group = Literal["Session", "Model and agent", "View", "Prompt", "Program"]

GROUPS: tuple[Group, ...] = ("Session", "Model and agent", "View", "Prompt", "Program")


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """*slash* is the command's name and then its aliases, *keys* the default keys (with
    ``<leader>`` for the leader), *argument* what may follow the command, for the help.
    *words* are texts that run it when they are the whole prompt."""

    id: str
    title: str
    run: Handler
    group: Group
    slash: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    argument: str = ""
    words: tuple[str, ...] = ()
    palette: bool = True


_actions: dict[str, Action] = {}


def action(
    action_id: str,
    title: str,
    group: Group,
    *,
    slash: tuple[str, ...] = (),
    keys: tuple[str, ...] = (),
    argument: str = "",
    words: tuple[str, ...] = (),
    palette: bool = True,
) -> Callable[[Handler], Handler]:
    """Register the decorated function. Two actions with one id or one name are a fault."""

    def register(run: Handler) -> Handler:
        taken = {name for known in _actions.values() for name in known.slash}
        if action_id in _actions or taken & set(slash):
            raise ValueError(f"the action {action_id} is registered twice, or a name of it is")
        _actions[action_id] = Action(
            id=action_id,
            title=title,
            run=run,
            group=group,
            slash=slash,
            keys=keys,
            argument=argument,
            words=words,
            palette=palette,
        )
        return run

    return register


def actions() -> list[Action]:
    """All actions, by group, in the order of their registration."""
    return sorted(_actions.values(), key=lambda known: GROUPS.index(known.group))


def find(action_id: str) -> Action | None:
    return _actions.get(action_id)


def by_slash(name: str) -> Action | None:
    """The action behind ``/name`` or one of its aliases."""
    name = name.lower()
    return next((known for known in _actions.values() if name in known.slash), None)


def names() -> Iterator[str]:
    """Every slash name, aliases too."""
    for known in _actions.values():
        yield from known.slash


REMEMBER = "folder.remember"
"""The action that a line with a ``#`` in front runs (U8)."""

SHELL = "prompt.shell"
"""The action that a prompt with a ``!`` in front runs (U8)."""

TAKE_BACK = "prompt.take-back"
"""The action of the up key on an empty prompt while messages wait (U10)."""


def _instruction(text: str) -> str:
    """The line that *text* adds to the instructions, "" for any other text. A number behind
    the ``#`` is an issue's, more of them begin a heading inside something pasted."""
    line = text.strip()
    if not text.startswith("#") or "\n" in line or line[1:2].isdigit() or line[1:2] == "#":
        return ""
    return line[1:].strip()


@dataclass(frozen=True, slots=True)
class Command:
    """A prompt that is a command: the action, or None where there is none of that *name*."""

    name: str
    argument: str
    action: Action | None


def parse(text: str) -> Command | None:
    """Read a prompt as a command: ``/name argument``, ``# a line for the instructions``,
    ``!command`` for the shell, or a bare word such as ``exit``.

    None for a prompt that is for the model. A path such as ``/usr/bin is full`` is one: a
    command's name holds no second slash.
    """
    line = _instruction(text)
    if line:
        return Command("#", line, find(REMEMBER))
    if text.startswith("!"):
        return Command("!", text[1:].strip(), find(SHELL))
    stripped = text.strip()
    for known in _actions.values():
        if stripped in known.words:
            return Command(stripped, "", known)
    if not stripped.startswith("/") or "\n" in stripped:
        return None
    name, _, argument = stripped[1:].partition(" ")
    if not name or not name.replace("-", "").replace("_", "").isalnum():
        return None
    return Command(name, argument.strip(), by_slash(name))
