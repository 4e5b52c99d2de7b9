"""The pages that a review opens: file changes, and the request of a past step."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from agent.records.blocks import DiffBlock, ToolLabel
from agent.records.messages import (
    AssistantMessage,
    Completed,
    Idle,
    MessageWithParts,
    Session,
    ToolPart,
)
from agent.session.api import SessionSnapshot
from app.screens.base.dialog import Dialog, key_hints
from app.screens.base.page import PageScreen
from app.session.view import SessionView
from app.text.sanitize import sanitize
from app.text.units import count
from app.widgets.transcript.transcript import Transcript

VERBS = {"modify": "Changed", "create": "Made", "delete": "Deleted", "move": "Moved"}


class ChangesScreen(Dialog[None]):
    """Shows the file changes of a turn or a session, drawn like edits in the transcript."""

    CSS_PATH = "changes.tcss"
    AUTO_FOCUS = "#changes-files"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close"),
        Binding("home,g", "end(False)", "First"),
        Binding("end,G", "end(True)", "Last"),
    ]

    def __init__(self, title: str, blocks: Sequence[DiffBlock]) -> None:
        super().__init__()
        self._title = title
        self._blocks = blocks

    def compose(self) -> ComposeResult:
        added = sum(block.added for block in self._blocks)
        removed = sum(block.removed for block in self._blocks)
        files = len({block.path for block in self._blocks})
        yield Static(
            Content.assemble(
                (self._title, "bold"),
                (f"   {count(files, 'file')}  ", "$tone-muted"),
                (f"+{added}", "$tone-ok"),
                (f" −{removed}", "$tone-err"),
            ),
            id="changes-top",
        )
        yield Transcript(as_view(self._blocks), id="changes-files")
        keys = key_hints(("j k", "next, previous file"), ("enter", "fold"), ("esc", "close"))
        yield Static(keys, id="changes-keys")

    def on_mount(self) -> None:
        self.call_after_refresh(self._unfold)

    def _unfold(self) -> None:
        transcript = self.query_one(Transcript)
        transcript.toggle_all(reasoning=False)
        transcript.scroll_home()

    def action_end(self, last: bool) -> None:
        transcript = self.query_one(Transcript)
        (transcript.scroll_end if last else transcript.scroll_home)()


def as_view(blocks: Sequence[DiffBlock]) -> SessionView:
    """Return *blocks* as the finished edits of one step, for a transcript."""
    session = Session(
        id="ses_changes", directory="", project="", title="", created=0.0, updated=0.0
    )
    message = AssistantMessage(
        id="msg_changes",
        session_id=session.id,
        created=0.0,
        parent_id="",
        turn_id="trn_changes",
        step=1,
        agent="",
        model="",
        completed=0.0,
        finish="stop",
    )
    parts = tuple(
        ToolPart(
            id=f"prt_{n:06}",
            session_id=session.id,
            message_id=message.id,
            call_id=f"call_{n}",
            tool="edit",
            state=Completed(
                input={},
                label=ToolLabel(
                    VERBS[block.change], block.path, f"+{block.added} −{block.removed}"
                ),
                started=0.0,
                ended=0.0,
                output="",
                blocks=(block,),
                facts=("",),
            ),
        )
        for n, block in enumerate(blocks)
    )
    snapshot = SessionSnapshot(
        session=session, messages=(MessageWithParts(message, parts),), status=Idle()
    )
    return SessionView(snapshot)


MAX_SECTION = 60_000
"""Characters of a section that are shown, because a page is laid out as a whole."""

LEFT_OUT = (
    "The base system prompt and the tool definitions, the same in every session, are not shown."
)


class PastRequestScreen(PageScreen):
    """Shows the request that *message* responded to as the model got it, with secrets redacted."""

    def __init__(
        self,
        messages: Sequence[MessageWithParts],
        message: AssistantMessage,
        secrets: Sequence[str],
    ) -> None:
        from agent.session.review.past_request import past_request  # imports the provider's records

        sections = [
            Content.assemble((f"{heading}\n", "bold $tone-accent"), sanitize(_cut(text)))
            for heading, text in past_request(messages, message.id, secrets)
        ]
        facts = Content.styled(
            f"{message.model}   agent {message.agent}\n{LEFT_OUT}", "$tone-muted"
        )
        super().__init__(
            f"Request of step {message.step}", Content("\n\n").join([facts, *sections])
        )


def _cut(text: str) -> str:
    if len(text) <= MAX_SECTION:
        return text
    return f"{text[:MAX_SECTION]}\n… {len(text) - MAX_SECTION:,} more characters"
