"""The action registry (spec 8, U13): one decorated function is a slash command, a palette
entry, a key and a row of the help.

    @action("session.new", "New session", slash=("new", "clear"), keys=("<leader>n",))
    async def new(context: Context, argument: str) -> None: ...
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # the first frame asks what a command is, and is without what commands use
    from app.commands.context import ActionContext
    from app.session.live import LiveSession
    from app.widgets.input.prompt import Prompt

Handler = Callable[["ActionContext", str], Awaitable[None]]
When = Callable[["LiveSession", "Prompt"], bool]
Group = Literal["Session", "Model and agent", "View", "Prompt", "Program", "Commands"]

GROUPS: tuple[Group, ...] = (
    "Session",
    "Model and agent",
    "View",
    "Prompt",
    "Program",
    "Commands",
)


ORDER: tuple[str, ...] = (
    "session.new",
    "session.list",
    "session.undo",
    "session.redo",
    "session.compact",
    "session.context",
    "session.cost",
    "session.review",
    "session.aside",
    "session.waiting",
    "session.copy",
    "session.export",
    "session.import",
    "session.rename",
    "session.fork",
    "session.pin",
    "session.delete",
    "family.list",
    "folder.init",
    "shells.list",
    "shells.detach",
    "session.todo",
    "family.stop",
    "family.down",
    "family.up",
    "family.next",
    "family.previous",
    "model.list",
    "model.effort",
    "model.effort_next",
    "agent.list",
    "agent.cycle",
    "permissions.mode",
    "model.connect",
    "view.sidebar",
    "view.mouse",
    "view.diffs",
    "view.copy",
    "view.thinking",
    "view.details",
    "view.theme",
    "prompt.history",
    "prompt.stash",
    "prompt.paste",
    "prompt.editor",
    "prompt.shell",
    "folder.remember",
    "prompt.vim",
    "prompt.later",
    "prompt.take-back",
    "app.help",
    "app.palette",
    "app.suspend",
    "app.exit",
    "permissions.list",
    "mcp.list",
    "lsp.show",
    "app.stats",
    "folder.instructions",
    "app.status",
    "folder.trust",
)
"""The ids of all built-in actions in the order of the help and the palette, group by group."""

_POSITIONS = {action_id: position for position, action_id in enumerate(ORDER)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """*slash* is the command's name and then its aliases, *keys* the default keys (with
    ``<leader>`` for the leader), *argument* what may follow the command, for the help.
    *words* are texts that run it when they are the whole prompt. *prompts*: it sends a prompt,
    whose argument may have several lines; one of the program's gives way to one of the user's
    with its name. *note* says where one of the user's comes from. *when* says whether its keys
    are its own just now: while it does not hold they are the editor's."""

    id: str
    title: str
    run: Handler
    group: Group
    slash: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    argument: str = ""
    bare_words: tuple[str, ...] = ()
    palette: bool = True
    sends_prompt: bool = False
    note: str = ""
    when: When | None = None

    @property
    def requires_argument(self) -> bool:
        """Whether it is of no use without an argument."""
        return self.argument.startswith("<")

    @property
    def takes_argument(self) -> bool:
        """Whether it needs an argument, or is a prompt that takes one: chosen from a list, it is
        to be written out first."""
        return self.requires_argument or (self.sends_prompt and bool(self.argument))


_actions: dict[str, Action] = {}
_provided: dict[str, tuple[Action, ...]] = {}


def action(
    action_id: str,
    title: str,
    group: Group,
    *,
    slash: tuple[str, ...] = (),
    keys: tuple[str, ...] = (),
    argument: str = "",
    bare_words: tuple[str, ...] = (),
    palette: bool = True,
    sends_prompt: bool = False,
    when: When | None = None,
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
            bare_words=bare_words,
            palette=palette,
            sends_prompt=sends_prompt,
            when=when,
        )
        return run

    return register


def provide(owner: str, given: Iterable[Action]) -> list[str]:
    """Make *given* the actions of *owner*, such as the commands of the opened folder, in place of
    those it had. One whose name an action of the program has is left out; the sentences on that.
    """
    _provided.pop(owner, None)
    kept: list[Action] = []
    left: list[str] = []
    for one in given:
        other = find_by_slash(one.slash[0])
        if other is None or other.sends_prompt:
            kept.append(one)
        else:
            left.append(f"/{one.slash[0]} is taken ({other.title}), so {one.note} has no effect.")
    _provided[owner] = tuple(kept)
    return left


def actions() -> list[Action]:
    """All actions, by group, and there as ``ORDER`` has them."""
    return sorted(
        _all(), key=lambda known: (GROUPS.index(known.group), _POSITIONS.get(known.id, len(ORDER)))
    )


def find(action_id: str) -> Action | None:
    return next((known for known in _all() if known.id == action_id), None)


def find_by_slash(name: str) -> Action | None:
    """The action behind ``/name`` or one of its aliases."""
    lower = name.lower()
    found = (known for known in _all() if name in known.slash or lower in known.slash)
    return next(found, None)


def slash_names() -> Iterator[str]:
    """Every slash name, aliases too."""
    for known in _all():
        yield from known.slash


def _all() -> Iterator[Action]:
    """The user's own, then those of the program whose names they do not have."""
    own = [known for given in _provided.values() for known in given]
    yield from own
    taken = {name for known in own for name in known.slash}
    yield from (known for known in _actions.values() if not taken & {*known.slash})


REMEMBER = "folder.remember"
"""The action that a line with a ``#`` in front runs (U8)."""

SHELL = "prompt.shell"
"""The action that a prompt with a ``!`` in front runs (U8)."""

EDIT_QUEUED = "prompt.take-back"
"""The action of the up key on an empty prompt while messages wait (U10)."""


DETACH = "shells.detach"
"""The action of the key that sends a running command to the background (U6)."""


def _instruction(text: str) -> str:
    """The line that *text* adds to the instructions, "" for any other text. A number behind
    the ``#`` is an issue's, more of them begin a heading inside something pasted."""
    line = text.strip()
    if not text.startswith("#") or "\n" in line or line[1:2].isdigit() or line[1:2] == "#":
        return ""
    return line[1:].strip()


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A prompt that is a command: the action, or None where there is none of that *name*."""

    name: str
    argument: str
    action: Action | None


def parse_command(text: str) -> SlashCommand | None:
    """Read a prompt as a command: ``/name argument``, ``# a line for the instructions``,
    ``!command`` for the shell, or a bare word such as ``exit``.

    None for a prompt that is for the model. A path such as ``/usr/bin is full`` is one: a
    command's name holds no second slash.
    """
    line = _instruction(text)
    if line:
        return SlashCommand("#", line, find(REMEMBER))
    if text.startswith("!"):
        return SlashCommand("!", text[1:].strip(), find(SHELL))
    stripped = text.strip()
    for known in _all():
        if stripped in known.bare_words:
            return SlashCommand(stripped, "", known)
    if not stripped.startswith("/"):
        return None
    name, *rest = stripped[1:].split(None, 1) or ("",)
    argument = rest[0] if rest else ""
    known = find_by_slash(name)
    if known is not None and (known.sends_prompt or "\n" not in stripped):
        return SlashCommand(name, argument, known)
    plain = name.replace("-", "").replace("_", "").isalnum() and "\n" not in stripped
    return SlashCommand(name, argument, None) if plain else None
