"""Display blocks of tool calls: a front end draws kinds of *block*, never kinds of tool.

So a new tool needs no UI code. A test keeps this union and the transcript's renderers equal. Blocks
are frozen, contain plain text (a front end sanitizes it before it is shown), and are stored as JSON
with their part.
"""

from dataclasses import field
from typing import Annotated, Literal, TypeAlias

from agent.records.frozen import frozen
from agent.records.json_reader import Tagged

TodoStatus = Literal["pending", "in_progress", "completed", "cancelled"]


@frozen
class DiffLine:
    """One line of a hunk. *old* and *new* are 1-based line numbers, None on the other side."""

    kind: Literal["context", "add", "remove"]
    old: int | None
    new: int | None
    text: str


MissingNewline: TypeAlias = Literal["", "old", "new", "both"]


@frozen
class Hunk:
    """Neighboring changes with their context. *index* counts from 0 over all the diffs of a
    request, so that a reply can name hunks by it."""

    index: int
    lines: tuple[DiffLine, ...]
    missing_newline: MissingNewline = ""
    """The sides whose file ends here, without a newline."""


@frozen
class DiffBlock:
    """A change of one file. *omitted* counts the diff lines that a very long diff leaves out."""

    path: str
    hunks: tuple[Hunk, ...]
    added: int
    removed: int
    change: Literal["modify", "create", "delete", "move"] = "modify"
    moved_from: str | None = None
    omitted: int = 0
    kind: Literal["diff"] = "diff"


@frozen
class ShellBlock:
    """A command and the end of its output."""

    command: str
    output: str = ""
    exit_code: int | None = None
    """None while the command runs, or if it was killed."""
    note: str = ""
    earlier: int = 0
    """The number of lines before *output* that are not kept."""
    directory: str = ""
    """The folder that it runs in, if that is not the session's."""
    description: str = field(default="", compare=False)
    """The purpose of the command, in the model's words."""
    kind: Literal["shell"] = "shell"


@frozen
class CodeBlock:
    """Lines of a file. *first_line* is 1-based; *language* is a lexer name or empty."""

    path: str
    text: str
    first_line: int = 1
    language: str = ""
    kind: Literal["code"] = "code"


@frozen
class ListingBlock:
    """Paths or matches, in order. *total* can exceed the number of items."""

    items: tuple[str, ...]
    total: int
    kind: Literal["listing"] = "listing"


@frozen
class TodoItem:
    """One entry of a session's to-do list."""

    content: str
    status: TodoStatus = "pending"
    priority: Literal["high", "medium", "low"] = "medium"


@frozen
class TodoBlock:
    items: tuple[TodoItem, ...]
    kind: Literal["todo"] = "todo"


@frozen
class TableBlock:
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    kind: Literal["table"] = "table"


@frozen
class ImageBlock:
    """An image or PDF that the model got. Sizes in pixels and bytes; 0 where unknown."""

    path: str
    mime: str
    width: int = 0
    height: int = 0
    size: int = 0
    kind: Literal["image"] = "image"


@frozen
class SubtaskBlock:
    """A sub-agent's work."""

    session_id: str
    """The sub-agent's session."""
    agent: str
    prompt: str = ""
    """The task that it got."""
    activity: str = ""
    """Its current activity in one line."""
    text: str = ""
    """Its report (markdown), once it is done."""
    background: bool = False
    """True if the work outlives the call; its report then comes as a message of its own."""
    kind: Literal["subtask"] = "subtask"


@frozen
class TextBlock:
    text: str
    markdown: bool = False
    kind: Literal["text"] = "text"


Block: TypeAlias = Annotated[
    DiffBlock
    | ShellBlock
    | CodeBlock
    | ListingBlock
    | TodoBlock
    | TableBlock
    | ImageBlock
    | SubtaskBlock
    | TextBlock,
    Tagged("kind"),
]


@frozen
class ToolLabel:
    """A tool call in a few words: ``Read src/a.py``, ``Edit src/a.py +4 −2``.

    *verb* is shown bold, *object* plain, *note* muted (change counts and the like).
    """

    verb: str
    object: str = ""
    note: str = ""
