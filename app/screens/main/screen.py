"""The main screen: the session, the prompt, and the status line below."""

import re
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widget import AwaitMount

from app.action_registry.registry import (
    EDIT_QUEUED,
    Action,
    find,
    find_by_slash,
    near_command,
    parse_command,
)
from app.session_state.notices import Level, NoticeLog
from app.terminal.painting import PaintedScreen
from app.text.mentions import mention_of, typed_mention
from app.widgets.home import Home, HomeFacts
from app.widgets.input.field import TextArea
from app.widgets.input.prompt import CompletionKey, Prompt
from app.widgets.status import StatusLine, agent_tone

if TYPE_CHECKING:  # not needed for the first frame
    from app.screens.main.layout import SessionWidgets
    from app.session_state.view import Change, SessionView
    from app.widgets.transcript.transcript import Transcript


class SessionScreen(PaintedScreen):
    """Shows one session, or the home page while it is empty.

    It knows nothing of the runtime: it posts what the user wants and gets what to show. It
    starts with the widgets of the first frame; ``add_widgets`` has to be called before it can show
    a session.
    """

    AUTO_FOCUS = "#prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "escape", "Close or interrupt", show=False),
        Binding("ctrl+home", "page('home')", "First line", show=False),
        Binding("ctrl+end", "page('end')", "Last line", show=False),
    ]

    @dataclass
    class Sent(Message):
        """A prompt for the model was sent."""

        text: str

    @dataclass
    class Called(Message):
        """An action was called with an argument."""

        action: Action
        argument: str
        handled: Callable[[], None]
        """Call it once the action runs: until then, the prompt holds keys back."""

    @dataclass
    class EnteredEarly(Message):
        """A command was entered that may exist once the folder is open."""

        text: str

    @dataclass
    class FilesWanted(Message):
        """A file mention is being typed."""

        typed: str

    class Interrupted(Message):
        """Esc was pressed with nothing left to close."""

    class Leaving(Message):
        """Ctrl+D was pressed on an empty prompt."""

    class Covered(Message):
        """Another screen covers this one."""

    class Resumed(Message):
        """No other screen covers this one any more."""

    def __init__(self, facts: HomeFacts) -> None:
        super().__init__()
        self._widgets: SessionWidgets | None = None
        self.first_frame_ready = False
        """True once the widgets of the first frame are mounted: the prompt takes keys."""
        self.all_commands_known = False
        """True once the commands of the opened folder are known too."""
        self._facts = facts
        self._drafts: dict[str | None, str] = {}
        self._switching = 0
        self._command_runs = False
        self._session_id: str | None = None
        self._typed_mention: str | None = None
        self._offered_for = ""
        self._shown_edge = ("", "")
        self.notices = NoticeLog()

    def compose(self) -> ComposeResult:
        with (
            Horizontal(id="session-body"),
            VerticalScroll(id="home-scroll", can_focus=False),
        ):
            yield Home(self._facts, id="home")
        with Vertical(id="prompt-box"):
            yield Prompt(id="prompt")
        yield StatusLine(id="status")

    def add_widgets(self, widgets: "SessionWidgets") -> None:
        """Add the widgets that the first frame does without."""
        self._widgets = widgets
        if self.first_frame_ready:
            self._mount_widgets(widgets)

    def on_mount(self) -> None:
        self.prompt.complete = self._complete
        self.prompt.is_command = is_command
        self.first_frame_ready = True
        if self._widgets is not None:  # they were added before the first frame
            self._mount_widgets(self._widgets)

    def _mount_widgets(self, widgets: "SessionWidgets") -> None:
        """Mount *widgets*, of which none is visible yet, and complete what was typed so far."""
        mounts = (
            self.mount(widgets.breadcrumbs, before="#session-body"),
            self.query_one("#session-body").mount(widgets.transcript, widgets.sidebar),
            self.mount(
                widgets.completions, widgets.activity, widgets.notices, before="#prompt-box"
            ),
            self.mount(widgets.live_strip, before="#status"),
        )
        self.call_next(self._finish_mounts, mounts)
        self._offer_completions()

    async def _finish_mounts(self, mounts: Sequence[AwaitMount]) -> None:
        """Wait for all mounts with a single layout."""
        with cast("App[object]", self.app).batch_update():
            for one in mounts:
                await one

    @property
    def widgets(self) -> "SessionWidgets":
        """Return the widgets of ``add_widgets``, which has to be called before."""
        assert self._widgets is not None  # an error of the caller
        return self._widgets

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
        return self._widgets is not None and self._widgets.completions.is_open

    def set_actions(self, actions: Sequence[Action]) -> None:
        self.widgets.list_actions(actions)

    def add_notice(self, text: str, level: Level, seconds: float | None = None) -> None:
        """Show a notice above the prompt for some *seconds*, and list it."""
        self.notices.add(text, level)
        if self._widgets is not None:
            self._widgets.notices.show(text, level, seconds)

    def set_lasting_notices(self, texts: Sequence[str]) -> None:
        """Replace the notices that hold until their cause is fixed; they are counted."""
        self.notices.set_lasting(texts)
        self.widgets.notices.show_count()

    def see_notices(self) -> None:
        """Reset the count: the user looks at the list."""
        self.notices.mark_seen()
        self.widgets.notices.show_count()

    def show_home(self, facts: HomeFacts) -> None:
        """Update the home page. While it is hidden, the facts are only kept."""
        self._facts = facts
        if self.query_one("#home-scroll").display:
            self.query_one(Home).show(facts)

    @contextmanager
    def switching(self) -> Generator[None]:
        """While this is open, another session is being opened: what is typed belongs to that."""
        before = self._session_id
        if not self._switching:
            self._store_draft(before)
        self._switching += 1
        try:
            yield
        finally:
            self._switching -= 1
            if not self._switching:
                self._restore_draft(before)

    def command_ended(self) -> None:
        """Take text that is typed from now on for a draft of the open session."""
        self._command_runs = False

    def _store_draft(self, session_id: str | None) -> None:
        # A command that was entered left the prompt empty: this text was typed after it.
        if self.prompt.text and not self._command_runs:
            self._drafts[session_id] = self.prompt.text
            self.prompt.set_text("")

    def _restore_draft(self, before: str | None) -> None:
        """Put the draft of the session that is open now before what was typed meanwhile. The text
        that was typed on the home page, *before* None, comes along."""
        draft = self._drafts.pop(self._session_id, "")
        if not draft and before is None:
            draft = self._drafts.pop(None, "")
        if draft:
            self.prompt.set_text(draft + self.prompt.text)

    def show_view(self, view: "SessionView | None") -> None:
        """Show another session; the typed draft stays with the previous one."""
        before, self._session_id = self._session_id, view.session_id if view else None
        if before != self._session_id and not self._switching:
            self._store_draft(before)
            self._restore_draft(before)
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
        """Color the prompt's edge like the agent that would get the prompt."""
        shown = (color, cast("App[object]", self.app).theme)
        if shown == self._shown_edge:
            return
        self._shown_edge = shown
        tone = agent_tone(color)
        box = self.query_one("#prompt-box")
        box.set_class(tone == "$tone-plan", "-plan")
        variables = cast("App[object]", self.app).get_css_variables()
        own = tone if tone.startswith("#") else variables.get(tone.removeprefix("$"))
        if own is None or tone.startswith("$tone-"):
            box.styles.border_left = None
        else:
            box.styles.border_left = ("outer", own)

    def show_work(
        self, view: "SessionView | None", to_send: int, preparing: float = 0.0, agent: str = ""
    ) -> None:
        """Update the activity line (see ``ActivityLine.show_session``)."""
        self.prompt.has_queued_messages = self.widgets.activity.show_session(
            view, to_send, preparing, agent
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
        typed = event.text.removeprefix(event.restored)
        if event.restored and is_command(typed):
            self.prompt.restore(event.restored)
            self.submit(typed)
        else:
            self.submit(event.text)
        event.handled()

    def submit(self, text: str) -> None:
        """Send *text*, or run the command that it is."""
        command = parse_command(text)
        if command is None:
            if text.strip():
                self.prompt.remember(text)
                self.post_message(self.Sent(self.prompt.expand_pastes(text)))
        elif command.action is None and not self.all_commands_known:
            self.post_message(self.EnteredEarly(text))
        elif command.action is None:
            self.prompt.set_text(text + self.prompt.text)
            self.notify(
                f"There is no command /{command.name}. {near_command(command.name)}",
                severity="warning",
                markup=False,
            )
        else:
            self.prompt.remember(text)
            argument = self.prompt.expand_pastes(command.argument)
            self._call(command.action, argument)

    def _complete(self, key: CompletionKey) -> bool:
        """Handle a key for the completion list; return False if none is open for the text."""
        if self._offered_for != self.prompt.text:  # the last characters were just typed
            self._offer_completions()
        listing = self._widgets.completions if self._widgets is not None else None
        if listing is None or not listing.is_open:
            return False
        if key in {"up", "down"}:
            listing.move(1 if key == "down" else -1)
        elif (chosen := listing.chosen) is not None and listing.files:
            self._insert_file(chosen)
        elif chosen is not None:
            self._accept_command(chosen, key)
        return True

    def _accept_command(self, chosen: str, key: CompletionKey) -> None:
        """Run the command *chosen*, or write it if it takes an argument."""
        action = find_by_slash(chosen)
        if action is None or key == "tab":
            self.prompt.set_text(f"/{chosen} ")
            return
        # A name that was typed in full is meant literally.
        whole = self.prompt.text.strip() == f"/{chosen}"
        if action.requires_argument if whole else action.takes_argument:
            self.prompt.set_text(f"/{chosen} ")
        else:
            self.prompt.take_text()
            self._call(action)

    def _call(self, action: Action, argument: str = "") -> None:
        self._command_runs = not self.prompt.text
        self.post_message(self.Called(action, argument, self.prompt.hold()))

    def on_prompt_mode_changed(self, event: Prompt.ModeChanged) -> None:
        event.stop()
        self.status.show(normal=event.mode == "normal")

    def on_prompt_edit_queued(self, event: Prompt.EditQueued) -> None:
        event.stop()
        action = find(EDIT_QUEUED)
        if action is not None:
            self._call(action)

    def on_prompt_help_wanted(self, event: Prompt.HelpWanted) -> None:
        event.stop()
        action = find("app.help")
        if action is not None:
            self._call(action)
        event.handled()

    def on_prompt_leave(self, event: Prompt.Leave) -> None:
        event.stop()
        self.post_message(self.Leaving())

    def on_prompt_scroll_key(self, event: Prompt.ScrollKey) -> None:
        event.stop()
        self.action_page(event.key)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        event.stop()
        self._offer_completions()

    def _offer_completions(self) -> None:
        """Offer completions for what is being typed."""
        text = self._offered_for = self.prompt.text
        self.query_one("#prompt-box").set_class(text.startswith("!"), "-shell")
        typed = text[1:] if COMMAND_NAME.fullmatch(text) else None
        mention = typed_mention(self.prompt.before_cursor)
        self._typed_mention = mention.name if mention else None
        if mention is not None and typed is None:
            self.post_message(self.FilesWanted(mention.name))
        else:
            self._show_commands("" if text == "/" else typed)

    def show_files(
        self, typed: str, paths: Sequence[str], agents: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Offer the files and *agents* (with their descriptions) that match *typed*, unless
        something else was typed meanwhile."""
        if typed == self._typed_mention:
            self.prompt.is_completing = self.widgets.completions.show_files(paths, agents)

    def _insert_file(self, path: str) -> None:
        """Complete the mention; a folder keeps the list open for its content."""
        typed = typed_mention(self.prompt.before_cursor)
        if typed is not None:
            self._show_commands(None)
            end = "" if path.endswith("/") else " "
            self.prompt.replace_before_cursor(typed.length, mention_of(path) + end)

    def _show_commands(self, typed: str | None) -> None:
        self._typed_mention = None  # files that arrive late would reopen the list
        if self._widgets is not None:
            self.prompt.is_completing = self._widgets.completions.show_commands(typed)

    def on_screen_suspend(self) -> None:
        if self.first_frame_ready:
            self.prompt.cover()
        self.post_message(self.Covered())

    def on_screen_resume(self) -> None:
        self.post_message(self.Resumed())

    def browse(self) -> None:
        """Let the keyboard go through the rows of the transcript; other keys return to the
        prompt."""
        if not self.transcript.display:
            return
        self.transcript.can_focus = True
        self.transcript.focus()
        self.transcript.action_cursor(-1)
        self.status.show(hints=BROWSE_KEYS)

    def _stop_browsing(self) -> bool:
        """Return to the prompt from the rows; return False if the keys were not there."""
        if self._widgets is None or not self.transcript.has_focus:
            return False
        self.prompt.focus()
        self.transcript.can_focus = False
        self.status.show(hints=())
        return True

    def on_key(self, event: events.Key) -> None:
        """Type what has no meaning for the rows that are browsed into the prompt."""
        if self._widgets is None or not event.is_printable:
            return
        if event.key not in self.transcript.bound_keys and self._stop_browsing():
            event.stop()
            self.prompt.post_message(events.Key(event.key, event.character))

    @property
    def closes_on_escape(self) -> bool:
        """True if Esc closes something here, and interrupts nothing."""
        vim = self.prompt.vim
        inserting = vim is not None and vim.mode == "insert"
        browsing = self._widgets is not None and self.transcript.has_focus
        return inserting or browsing or self.is_completing or bool(self.get_selected_text())

    def action_escape(self) -> None:
        if self._stop_browsing():
            return
        if self.is_completing:
            self._show_commands(None)
        elif self.get_selected_text():
            self.clear_selection()
        else:
            self.post_message(self.Interrupted())

    def action_page(self, key: str) -> None:
        """Scroll the transcript or the home page."""
        target = self.transcript if self.transcript.display else self.query_one("#home-scroll")
        moves = {
            "pageup": target.scroll_page_up,
            "pagedown": target.scroll_page_down,
            "home": target.scroll_home,
            "end": target.scroll_end,
        }
        moves[key](animate=False)


BROWSE_KEYS = (
    ("enter", "open"),
    ("space", "unfold"),
    ("j k", "move"),
    ("o", "in full"),
    ("e", "edit"),
    ("esc", "back"),
)
"""The keys while the rows of the transcript are browsed."""

COMMAND_NAME = re.compile(r"/[\w/:.-]+")
"""The name of a command while it is typed."""


def is_command(text: str) -> bool:
    """Return whether *text* calls a command that is known."""
    command = parse_command(text)
    return command is not None and command.action is not None
