"""The main screen: the session, the prompt, and one line below (spec 8, 8.1 and 8.2)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widget import AwaitMount

from app.commands.registry import EDIT_QUEUED, Action, find, find_by_slash, parse_command
from app.text.mentions import TYPED_MENTION, mention_of
from app.widgets.home import Home, HomeFacts
from app.widgets.input.prompt import Prompt
from app.widgets.input.textarea import TextArea
from app.widgets.status import StatusLine, agent_tone

if TYPE_CHECKING:  # the first frame is without
    from app.screens.session.layout import SessionWidgets
    from app.session.view import Change, SessionView
    from app.widgets.transcript.transcript import Transcript


class SessionScreen(Screen[None]):
    """Shows one session, or the first-run page while it is empty. Knows nothing of the
    runtime: it posts what the user wants and is told what to show. It begins with what the
    first frame shows, and is to be completed before it is told of a session."""

    AUTO_FOCUS = "#prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "escape", "Close or interrupt", show=False),
        Binding("ctrl+home", "page('home')", "First line", show=False),
        Binding("ctrl+end", "page('end')", "Last line", show=False),
    ]

    @dataclass
    class Sent(Message):
        """A prompt for the model."""

        text: str

    @dataclass
    class Called(Message):
        """An action with its argument."""

        action: Action
        argument: str

    @dataclass
    class FilesWanted(Message):
        """A file is being named; what was typed of it."""

        typed: str

    class Interrupted(Message):
        """Esc with nothing left to close."""

    class Leaving(Message):
        """Ctrl+D on an empty prompt."""

    class Resumed(Message):
        """Nothing lies over this screen any more."""

    def __init__(self, facts: HomeFacts) -> None:
        super().__init__()
        self._parts: SessionWidgets | None = None
        self.first_frame_ready = False
        """Whether the first frame's widgets are there; the prompt takes keys from then on."""
        self._facts = facts
        self._drafts: dict[str | None, str] = {}
        self._session_id: str | None = None
        self._file_typed: str | None = None
        self._edge = ("", "")

    def compose(self) -> ComposeResult:
        with (
            Horizontal(id="session-body"),
            VerticalScroll(id="home-scroll", can_focus=False),
        ):
            yield Home(self._facts, id="home")
        with Vertical(id="prompt-box"):
            yield Prompt(id="prompt")
        yield StatusLine(id="status")

    def add_widgets(self, parts: "SessionWidgets") -> None:
        """Take in what the first frame does without."""
        self._parts = parts
        if self.first_frame_ready:
            self._place(parts)

    def on_mount(self) -> None:
        self.first_frame_ready = True
        if self._parts is not None:  # somebody was faster than the first frame
            self._place(self._parts)

    def _place(self, parts: "SessionWidgets") -> None:
        """Nothing of *parts* shows yet, so nothing moves. What was typed until now is completed."""
        mounts = (
            self.mount(parts.breadcrumbs, before="#session-body"),
            self.query_one("#session-body").mount(parts.transcript, parts.sidebar),
            self.mount(parts.completions, parts.activity, before="#prompt-box"),
        )
        self.call_next(self._placed, mounts)
        self._offer()

    async def _placed(self, mounts: Sequence[AwaitMount]) -> None:
        """One layout for all of them, not one for each."""
        with cast("App[object]", self.app).batch_update():
            for one in mounts:
                await one

    @property
    def widgets(self) -> "SessionWidgets":
        """What ``complete`` brought: not to be asked for before it."""
        assert self._parts is not None  # a fault of the caller
        return self._parts

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    @property
    def transcript(self) -> "Transcript":
        return self.widgets.transcript

    @property
    def status(self) -> StatusLine:
        return self.query_one(StatusLine)

    @property
    def is_completing(self) -> bool:
        """Whether the list of commands is open."""
        return self._parts is not None and self._parts.completions.is_open

    def set_actions(self, actions: Sequence[Action]) -> None:
        """Other commands to list."""
        self.widgets.list_actions(actions)

    def show_home(self, facts: HomeFacts) -> None:
        """Bring the first-run page up to date, or keep what is to be on it: a page that nobody
        sees is not worth a layout of the screen."""
        self._facts = facts
        if self.query_one("#home-scroll").display:
            self.query_one(Home).show(facts)

    def show_view(self, view: "SessionView | None") -> None:
        """Show another session, keeping what was being typed with the one before."""
        before, self._session_id = self._session_id, view.session_id if view else None
        if before != self._session_id:
            typed = self.prompt.text
            draft = self._drafts.pop(self._session_id, None)
            if before is not None or draft is not None:
                self._drafts[before] = typed
                self.prompt.set_text(draft or "")
        if view is not None:
            self.transcript.show(view)
        self._show_page(view)

    def show_change(self, view: "SessionView | None", change: "Change") -> None:
        """Show what events changed in the open session."""
        if view is not None and change:
            self.widgets.activity.note_output_of(view)
            if change.messages and self.transcript.following:
                view.trim()
            self.transcript.update(change)
            if change.messages:
                self._show_page(view)

    def show_agent(self, color: str) -> None:
        """The prompt's edge has the colour of the agent that would get it."""
        shown = (color, cast("App[object]", self.app).theme)
        if shown == self._edge:
            return
        self._edge = shown
        tone = agent_tone(color)
        box = self.query_one("#prompt-box")
        box.set_class(tone == "$tone-plan", "-plan")
        variables = cast("App[object]", self.app).get_css_variables()
        own = tone if tone.startswith("#") else variables.get(tone.removeprefix("$"))
        if own is None or tone.startswith("$tone-"):
            box.styles.border_left = None
        else:
            box.styles.border_left = ("outer", own)

    def show_work(self, view: "SessionView | None", to_send: int, preparing: float = 0.0) -> None:
        """Bring the line above the prompt up to date; *preparing* is since when a command is
        made ready to be sent, 0 for none."""
        self.prompt.has_queued_messages = self.widgets.activity.show_session(
            view, to_send, preparing
        )

    def _show_page(self, view: "SessionView | None") -> None:
        filled = view is not None and bool(view.message_ids)
        self.transcript.display = filled
        self.query_one("#home-scroll").display = not filled
        self.set_class(filled, "-filled")
        if not filled:
            self.query_one(Home).show(self._facts)

    def on_prompt_submitted(self, event: Prompt.Submitted) -> None:
        event.stop()
        command = parse_command(event.text)
        if command is None:
            if event.text.strip():
                self.prompt.remember(event.text)
                self.post_message(self.Sent(self.prompt.expand_pastes(event.text)))
        elif command.action is None:
            self.prompt.set_text(event.text + self.prompt.text)
            self.notify(
                f"There is no command /{command.name}. Type / to see them all.",
                severity="warning",
                markup=False,
            )
        else:
            self.prompt.remember(event.text)
            argument = self.prompt.expand_pastes(command.argument)
            self.post_message(self.Called(command.action, argument))

    def on_prompt_completion_key(self, event: Prompt.CompletionKey) -> None:
        event.stop()
        listing = self.widgets.completions
        if event.move in {"up", "down"}:
            listing.move(1 if event.move == "down" else -1)
            return
        chosen = listing.chosen
        if chosen is None:
            return
        if listing.files:
            self._put_file(chosen)
            return
        known = find_by_slash(chosen)
        if known is None or event.move == "tab":
            self.prompt.set_text(f"/{chosen} ")
            return
        # A name that was typed in full is meant as it stands.
        whole = self.prompt.text.strip() == f"/{chosen}"
        if known.requires_argument if whole else known.takes_argument:
            self.prompt.set_text(f"/{chosen} ")
        else:
            self.prompt.take_text()
            self.post_message(self.Called(known, ""))

    def on_prompt_mode_changed(self, event: Prompt.ModeChanged) -> None:
        event.stop()
        self.status.show(normal=event.mode == "normal")

    def on_prompt_edit_queued(self, event: Prompt.EditQueued) -> None:
        event.stop()
        known = find(EDIT_QUEUED)
        if known is not None:
            self.post_message(self.Called(known, ""))

    def on_prompt_leave(self, event: Prompt.Leave) -> None:
        event.stop()
        self.post_message(self.Leaving())

    def on_prompt_page(self, event: Prompt.Page) -> None:
        event.stop()
        self.action_page(event.key)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._offer()

    def _offer(self) -> None:
        """Complete what is being typed."""
        text = self.prompt.text
        self.query_one("#prompt-box").set_class(text.startswith("!"), "-shell")
        typed = text[1:] if COMMAND_NAME.fullmatch(text) else None
        mention = TYPED_MENTION.search(self.prompt.before_cursor)
        self._file_typed = mention[1] if mention else None
        if mention is not None and typed is None:
            self.post_message(self.FilesWanted(mention[1]))
        else:
            self._complete("" if text == "/" else typed)

    def show_files(
        self, typed: str, paths: Sequence[str], agents: Sequence[tuple[str, str]] = ()
    ) -> None:
        """The files and *agents* (with what they are for) that fit *typed*; out of date once
        something else is typed."""
        if typed == self._file_typed:
            self.prompt.is_completing = self.widgets.completions.show_files(paths, agents)

    def _put_file(self, path: str) -> None:
        """Complete the mention; a folder stays open for what is in it."""
        typed = TYPED_MENTION.search(self.prompt.before_cursor)
        if typed is not None:
            self._complete(None)
            end = "" if path.endswith("/") else " "
            self.prompt.replace_before_cursor(len(typed[0]), mention_of(path) + end)

    def _complete(self, typed: str | None) -> None:
        self._file_typed = None  # files that come late would open the list again
        if self._parts is not None:
            self.prompt.is_completing = self._parts.completions.show_commands(typed)

    def on_screen_resume(self) -> None:
        self.post_message(self.Resumed())

    def action_escape(self) -> None:
        if self.is_completing:
            self._complete(None)
        elif self.get_selected_text():
            self.clear_selection()
        else:
            self.post_message(self.Interrupted())

    def action_page(self, key: str) -> None:
        """Scroll the transcript, or the first-run page."""
        target = self.transcript if self.transcript.display else self.query_one("#home-scroll")
        moves = {
            "pageup": target.scroll_page_up,
            "pagedown": target.scroll_page_down,
            "home": target.scroll_home,
            "end": target.scroll_end,
        }
        moves[key](animate=False)


COMMAND_NAME = re.compile(r"/[\w/:.-]+")
"""A command's name while it is typed."""
