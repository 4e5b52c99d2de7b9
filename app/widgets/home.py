"""The home page of an empty session: the folder, the model and why it is used, and suggestions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from agent.records.amounts import count
from agent.records.frozen import frozen
from app.session_state.folder_facts import Workspace
from app.text.dates import day
from app.text.sanitize import sanitize

if TYPE_CHECKING:  # only for annotations
    from agent.records.messages import Session
    from app.session_state.live import LiveSession
    from app.startup.launch import LaunchOptions

NO_MODEL = "no model is connected yet"
"""The reason why the demo is shown as the model."""

CONNECT_SUGGESTIONS: tuple[tuple[str, str], ...] = (
    ("/connect", "connect a provider or your own server"),
    ("read README.md", "try the demo: real tools, no language model"),
    ("tour", "a two-minute tour by the demo"),
)

DEMO_SUGGESTIONS: tuple[tuple[str, str], ...] = (
    ("read README.md", "see what a tool call looks like"),
    ("run git push", "see the permission dialog"),
    ("tour", "a two-minute tour"),
)

SUGGESTIONS: tuple[tuple[str, str], ...] = (
    ("What does this project do?", "it reads before it answers"),
    ("Find and fix a failing test", "it asks before it changes"),
    ("Plan how to …", "tab switches to the plan agent, which reads but changes nothing"),
)

TAGLINE = "a coding agent for this folder"

NARROW = 56
"""Cells below which the page is shortened."""

MAX_WIDTH = 80
"""Cells from which on the page is the same."""

MAX_RECENT = 3

MAX_TITLE = 40
"""Cells of the title of a recent session."""

MAX_NOTICES = 2
MAX_NOTICE_LINES = 4
"""Notices that are shown, and the lines of each."""


@frozen(kw_only=True)
class HomeFacts:
    """The content of the home page."""

    workspace: Workspace
    model: str = ""
    """Empty while the program still starts."""
    reason: str = ""
    """The reason why this model is used."""
    local: tuple[str, ...] = ()
    """Model servers that run on this machine."""
    recent: "tuple[Session, ...]" = ()
    now: float = 0.0
    notices: tuple[str, ...] = ()
    """Faults that stay until they are fixed, such as those of the settings."""


def model_reason(live: "LiveSession", launch: "LaunchOptions") -> str:
    if live.model.startswith("demo/"):
        if live.is_ready and live.runtime.catalog.lacks_model:
            return NO_MODEL
        return "the demo, not a language model; /connect connects one"
    if launch.model is not None:
        return "chosen on the command line"
    if live.is_ready and live.model == live.runtime.config.config.model:
        return "from your settings"
    if live.is_ready and live.model == live.runtime.catalog.last_used_model:
        return "the one you used last"
    return "the first provider with a key; /model lists the others"


def local_servers(live: "LiveSession") -> tuple[str, ...]:
    if not live.is_ready or not live.model.startswith("demo/"):
        return ()
    catalog = live.runtime.catalog
    return tuple(catalog.access.display_name(name) for name in catalog.model_lists.local_servers)


def home_text(facts: HomeFacts, width: int) -> Content:
    """Return the page in *width* cells. A narrow one shortens what it can."""
    workspace = facts.workspace
    where = [sanitize(workspace.folder)]
    if workspace.branch is not None:
        changed = f", {workspace.changed} changed" if workspace.changed else ""
        where.append(f"{sanitize(workspace.branch)}{changed}")
    lines = [
        Content.assemble(("opencode", "bold"), ("-py", "bold $tone-accent")),
        *([] if width < NARROW else [Content.styled(TAGLINE, "$tone-muted")]),
        Content(""),
        Content.assemble(where[0], ("".join(f"   {part}" for part in where[1:]), "$tone-muted")),
        Content(""),
        *_model_lines(facts),
        *_notice_lines(facts.notices),
        *(line.truncate(width, ellipsis=True) for line in _suggestion_lines(facts, width)),
        *_recent_lines(facts.recent, facts.now, width),
    ]
    return Content("\n").join(lines)


def _model_lines(facts: HomeFacts) -> list[Content]:
    if not facts.model:
        return [Content.styled("Starting", "$tone-muted"), Content("")]
    tone = "$tone-warn" if facts.model.startswith("demo/") else "$tone-accent"
    first = Content.assemble(
        (sanitize(facts.model), tone), (f"  {sanitize(facts.reason)}", "$tone-muted")
    )
    if not facts.local:
        return [first, Content("")]
    *others, last = (sanitize(name) for name in facts.local)
    names = f"{', '.join(others)} and {last}" if others else last
    connect = Content.assemble(
        (f"{names} {'run' if others else 'runs'} on this machine: ", "$tone-muted"),
        ("/connect", "bold"),
        (" uses their models" if others else " uses its models", "$tone-muted"),
    )
    return [first, connect, Content("")]


def _notice_lines(notices: "Sequence[str]") -> list[Content]:
    if not notices:
        return []
    texts = [text.split("\n") for text in notices]
    shown = [text[:MAX_NOTICE_LINES] for text in texts[:MAX_NOTICES]]
    lines = [Content.styled(sanitize(line), "$tone-warn") for text in shown for line in text]
    if (more := sum(map(len, texts)) - len(lines)) > 0:
        rest = f"{count(more, 'more notice')}: "
        lines.append(Content.assemble((rest, "$tone-warn"), ("/status", "bold")))
    return [*lines, Content("")]


def _suggestion_lines(facts: HomeFacts, page_width: int) -> list[Content]:
    """Return what can be typed, with reasons if the page is wide enough for them."""
    suggestions = SUGGESTIONS[:2]
    is_demo = facts.model.startswith("demo/") and facts.reason != NO_MODEL
    if facts.reason == NO_MODEL:
        suggestions = CONNECT_SUGGESTIONS
    elif is_demo:
        suggestions = DEMO_SUGGESTIONS
    width = max(len(what) for what, _ in suggestions) + 4
    if page_width < NARROW:
        suggestions, help_text = tuple((what, "") for what, _ in suggestions), ""
    else:
        help_text = "every key and command"
    rows = [Content.assemble(what.ljust(width), (why, "$tone-faint")) for what, why in suggestions]
    help_row = Content.assemble("/help".ljust(width), (help_text, "$tone-faint"))
    return rows if is_demo else [*rows, help_row]


def _recent_lines(sessions: "Sequence[Session]", now: float, width: int) -> list[Content]:
    if not sessions:
        return []
    titles = [
        Content(sanitize(s.title or "Untitled").replace("\n", " ")) for s in sessions[:MAX_RECENT]
    ]
    column = min(MAX_TITLE, max(12, width - 24), max(title.cell_length for title in titles)) + 4
    rows = [Content(""), Content.styled("Recent", "$tone-faint")]
    for title, session in zip(titles, sessions, strict=False):
        shown = title.truncate(column - 2, ellipsis=True)
        turns = f", {count(session.turns, 'turn')}" if session.turns else ""
        when = f"{day(session.updated, now)}{turns}"
        pad = Content(" " * (column - shown.cell_length))
        row = shown + pad + Content.styled(when, "$tone-faint")
        rows.append(row.truncate(width, ellipsis=True))
    return [*rows, Content.styled("/sessions resumes one", "$tone-faint")]


class Home(Static):
    """Shows ``HomeFacts``."""

    def __init__(self, facts: HomeFacts, *, id: str | None = None) -> None:
        super().__init__(home_text(facts, MAX_WIDTH), id=id, markup=False)
        self._facts = facts
        self._width = MAX_WIDTH

    def show(self, facts: HomeFacts) -> None:
        if facts != self._facts:
            self._facts = facts
            self.update(home_text(facts, self._width))

    def on_resize(self) -> None:
        if (width := min(self.content_size.width, MAX_WIDTH)) != self._width:
            self._width = width
            self.update(home_text(self._facts, width))
