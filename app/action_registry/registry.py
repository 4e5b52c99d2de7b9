"""The registry of actions: one decorated function is a slash command, a palette entry, a key and a
row of the help.

    @action("session.new", "New session", slash=("new", "clear"), keys=("<leader>n",))
    async def new(context: ActionContext, argument: str) -> None: ...
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from agent.records.frozen import frozen

if TYPE_CHECKING:  # not loaded for the first frame
    from app.action_registry.context import ActionContext
    from app.session_state.live import LiveSession
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
"""The headings of the help, in order."""


ORDER: tuple[str, ...] = (
    "session.new",
    "session.list",
    "session.undo",
    "session.redo",
    "session.compact",
    "session.context",
    "session.cost",
    "session.budget",
    "session.goal",
    "session.loop",
    "session.review",
    "session.changes",
    "session.next",
    "session.aside",
    "session.waiting",
    "session.copy",
    "session.export",
    "session.import",
    "session.rename",
    "session.fork",
    "session.merge",
    "session.pin",
    "session.delete",
    "family.list",
    "family.stop",
    "family.down",
    "family.up",
    "family.next",
    "family.previous",
    "folder.init",
    "shells.list",
    "shells.detach",
    "session.todo",
    "model.list",
    "model.fallback",
    "model.effort",
    "model.effort_next",
    "agent.list",
    "agent.cycle",
    "permissions.mode",
    "permissions.cycle",
    "model.connect",
    "view.sidebar",
    "view.mouse",
    "view.diffs",
    "view.copy",
    "view.browse",
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
    "folder.memory",
    "folder.instructions",
    "app.status",
    "folder.trust",
)
"""The ids of all built-in actions, in the order of the help and the palette within their groups."""

_POSITIONS = {action_id: position for position, action_id in enumerate(ORDER)}


@frozen(kw_only=True)
class Action:
    """A command of the user interface."""

    id: str
    title: str
    run: Handler
    group: Group
    slash: tuple[str, ...] = ()
    """The slash command's name, then its aliases."""
    keys: tuple[str, ...] = ()
    """The default keys, with ``<leader>`` for the leader."""
    argument: str = ""
    """The argument that the command takes, for the help."""
    bare_words: tuple[str, ...] = ()
    """Texts that run the action when they are the whole prompt."""
    palette: bool = True
    sends_prompt: bool = False
    """True if it sends a prompt, whose argument can have several lines. A built-in action of that
    kind gives way to a user's command of the same name."""
    note: str = ""
    """The source of a user's command."""
    when: When | None = None
    """Returns whether the keys belong to the action now: otherwise they are the editor's."""
    gives_way: bool = False
    """True if a user's command of the same name replaces it."""

    @property
    def requires_argument(self) -> bool:
        """True if it does nothing without an argument."""
        return self.argument.startswith("<")

    @property
    def takes_argument(self) -> bool:
        """True if it needs an argument, or sends a prompt that takes one: chosen from a list, it is
        written into the prompt first."""
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
    gives_way: bool = False,
) -> Callable[[Handler], Handler]:
    """Register the decorated function. Raises ``ValueError`` for an id or a name that is taken."""

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
            gives_way=gives_way,
        )
        return run

    return register


def provide(owner: str, given: Iterable[Action]) -> list[str]:
    """Make *given* the actions of *owner*, such as the slash commands of the opened folder, in
    place of its earlier ones.

    An action whose name a built-in one has is ignored. Returns a sentence on each of those.
    """
    _provided.pop(owner, None)
    kept: list[Action] = []
    ignored: list[str] = []
    for one in given:
        other = find_by_slash(one.slash[0])
        if other is None or other.sends_prompt or other.gives_way:
            kept.append(one)
        else:
            ignored.append(
                f"/{one.slash[0]} is taken ({other.title}), so {one.note} has no effect."
            )
    _provided[owner] = tuple(kept)
    return ignored


def actions() -> list[Action]:
    """Return all actions, by group, in the order of ``ORDER``; others follow as registered."""
    return sorted(
        _all(), key=lambda known: (GROUPS.index(known.group), _POSITIONS.get(known.id, len(ORDER)))
    )


def find(action_id: str) -> Action | None:
    return next((known for known in _all() if known.id == action_id), None)


def find_by_slash(name: str) -> Action | None:
    """Return the action of ``/name`` or of one of its aliases."""
    lower = name.lower()
    found = (known for known in _all() if name in known.slash or lower in known.slash)
    return next(found, None)


def near_command(name: str) -> str:
    """Return a sentence with the command that was probably meant by *name*."""
    from difflib import get_close_matches  # only for a mistyped command

    names = {alias: known.slash[0] for known in _all() for alias in known.slash}
    near = get_close_matches(name.lower(), names, n=3, cutoff=0.6)
    near.sort(key=lambda one: sorted(one) != sorted(name.lower()))  # swapped letters first
    return f"Did you mean /{near[0]}?" if near else "Type / to see them all."


def _all() -> Iterator[Action]:
    """Return the users' own actions, then the built-in ones whose names are not taken."""
    own = [known for given in _provided.values() for known in given]
    yield from own
    taken = {name for known in own for name in known.slash}
    yield from (known for known in _actions.values() if not taken & {*known.slash})


REMEMBER = "folder.remember"
"""The action of a line that begins with ``#``."""

SHELL = "prompt.shell"
"""The action of a prompt that begins with ``!``."""

EDIT_QUEUED = "prompt.take-back"
"""The action of the up key in an empty prompt while messages are queued."""


DETACH = "shells.detach"
"""The action of the key that sends a running command to the background."""


def _instruction(text: str) -> str:
    """Return the line that *text* adds to the instructions, empty for any other text.

    A number after the ``#`` is that of an issue; several ``#`` begin a heading in pasted text.
    """
    line = text.strip()
    if not text.startswith("#") or "\n" in line or line[1:2].isdigit() or line[1:2] == "#":
        return ""
    return line[1:].strip()


@frozen
class SlashCommand:
    """A prompt that is a command, with its action, or None if there is no action of that *name*."""

    name: str
    argument: str
    action: Action | None


def parse_command(text: str) -> SlashCommand | None:
    """Parse a prompt as a command: ``/name argument``, ``# a line for the instructions``,
    ``!command`` for the shell, or a bare word such as ``exit``.

    Returns None for a prompt for the model. A path such as ``/usr/bin is full`` is one: a command's
    name contains no second slash.
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
