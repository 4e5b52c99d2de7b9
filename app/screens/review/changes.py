"""The review of changes: go through files, hunks and lines, comment on them, and keep or revert
hunks. It serves ``/review``, the changes of a turn in the history, and a permission request."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent.records.amounts import count
from agent.records.errors import NothingToDo
from agent.records.frozen import frozen
from agent.records.review_comment import ReviewComment
from agent.session.review.reviewed_file import ReviewedFile
from app.screens.base.dialog import Dialog
from app.screens.base.hints import KeyHints
from app.screens.base.picker import TwoColumnRow
from app.terminal.tasks import Tasks, is_open
from app.text.sanitize import sanitize_line
from app.widgets.diff_pane import DiffPane, HunkLabels, PlacedComment
from app.widgets.input.field import TextField
from app.widgets.transcript.lines import cut

SIGNS = {"modify": "M", "create": "A", "delete": "D", "move": "R"}

WriteHunks = Callable[
    [ReviewedFile, frozenset[int], frozenset[int]], Coroutine[object, object, None]
]
"""Writes a file that has some of its hunks so that it has others. Raises ``NothingToDo``."""


KeepComments = Callable[[tuple[ReviewComment, ...]], None]
"""Stores the comments that are not sent yet."""


@frozen
class SentComment:
    """A comment of an earlier review with the agent's reply, "" while there is none."""

    comment: ReviewComment
    reply: str = ""


@frozen
class ReviewState:
    """The result of a review: the *comments* that are not sent yet, the hunks that are *reverted*
    by path, and whether to *send* the comments."""

    comments: tuple[ReviewComment, ...] = ()
    reverted: Mapping[str, frozenset[int]] | None = None
    send: bool = False


MIN_TITLE = 12
"""Cells from which the title is shown."""

MIN_PATH = 16
"""Cells for the title and the path, from which on the totals of all files are shown too."""
NOTHING_REVERTED: frozenset[int] = frozenset()
NEW_REVIEW = ReviewState()
NO_CHOICE = HunkLabels()
REVERT = HunkLabels("kept", "reverted", "revert")
REJECT = HunkLabels("kept", "rejected", "reject")


class ChangesScreen(Dialog[ReviewState]):
    """Shows *files*. *write* reverts hunks at once, in one of the *tasks*; without it they are only
    marked with the words of *labels* (rejected), for the caller. *sent* are comments of earlier
    reviews. *keep* gets the comments that are not sent yet after each change. *confirm* is what
    enter does while there are none, such as merging."""

    CSS_PATH = "changes.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "Close"),
        Binding("j,down", "move(1)", "Down"),
        Binding("k,up", "move(-1)", "Up"),
        Binding("pagedown,space", "page(1)", "Page down"),
        Binding("pageup", "page(-1)", "Page up"),
        Binding("home,g", "move(-1000000)", "First line"),
        Binding("end,G", "move(1000000)", "Last line"),
        Binding("n", "hunk(1)", "Next change"),
        Binding("p", "hunk(-1)", "Previous change"),
        Binding("tab", "file(1)", "Next file", priority=True),
        Binding("shift+tab", "file(-1)", "Previous file", priority=True),
        Binding("v", "select", "Select lines"),
        Binding("c", "comment", "Comment"),
        Binding("x", "remove_comment", "Remove the comment"),
        Binding("a", "keep(True)", "Keep"),
        Binding("r", "keep(False)", "Revert"),
        Binding("s", "layout", "Side by side"),
        Binding("enter", "send", "Send"),
    ]

    def __init__(
        self,
        title: str,
        files: Sequence[ReviewedFile],
        *,
        tasks: Tasks | None = None,
        notes: Sequence[str] = (),
        write: WriteHunks | None = None,
        labels: HunkLabels = NO_CHOICE,
        state: ReviewState = NEW_REVIEW,
        sent: Sequence[SentComment] = (),
        keep: KeepComments | None = None,
        confirm: str = "",
    ) -> None:
        super().__init__()
        self._keep = keep
        self._confirm = confirm
        self._title = title
        self._files = tuple(files)
        self._tasks = tasks
        self._notes = notes
        self._write = write
        reverting = write is not None and any(file.can_revert for file in self._files)
        self._labels = labels if reverting or write is None else NO_CHOICE
        self._comments = list(state.comments)
        self._reverted = dict(state.reverted or {})
        self._wanted: dict[str, frozenset[int]] = {}
        """The hunks to revert in files that are still to be written."""
        self._writing_files = asyncio.Lock()
        self._writes: set[asyncio.Task[object]] = set()
        self._sent = sent
        self._current = 0

    def compose(self) -> ComposeResult:
        yield Static(id="changes-top")
        with Horizontal(id="changes-body"):
            yield OptionList(id="changes-files", markup=False, compact=True)
            with VerticalScroll(id="changes-scroll", can_focus=False):
                yield DiffPane(self._labels, id="changes-diff")
        yield TextField(
            placeholder="Comment, then enter", select_on_focus=False, id="changes-comment"
        )
        yield Static(id="changes-keys")

    def on_mount(self) -> None:
        self.query_one(OptionList).can_focus = False
        self._show_file()
        shown = ", ".join(self._notes[:3])
        self._say(f"Not shown: {shown}{' …' if len(self._notes) > 3 else ''}" if shown else "")

    def on_resize(self) -> None:
        self._show_top()
        self._say("")

    @property
    def _file(self) -> ReviewedFile:
        return self._files[self._current]

    @property
    def _marks_only(self) -> bool:
        """True if hunks are only marked, for the caller."""
        return self._write is None and bool(self._labels.kept)

    @property
    def _pane(self) -> DiffPane:
        return self.query_one(DiffPane)

    # --- what is shown ---

    def _show_file(self) -> None:
        file = self._file
        path = file.block.path
        placed = [_placed(each) for each in self._comments if each.path == path]
        placed += [
            _placed(one.comment, one.reply, sent=True, block_of=file)
            for one in self._sent
            if one.comment.path == path
        ]
        self._pane.show(file.block, self._reverted.get(path, NOTHING_REVERTED), placed)
        self._show_list()
        self._show_top()

    def _show_list(self) -> None:
        listing = self.query_one(OptionList)
        rows = [Option(self._file_row(file)) for file in self._files]
        listing.set_options(rows)
        listing.highlighted = self._current

    def _file_row(self, file: ReviewedFile) -> TwoColumnRow:
        block = file.block
        said = sum(each.path == block.path for each in self._comments)
        tone = {"create": "$tone-ok", "delete": "$tone-err"}.get(block.change, "$tone-muted")
        left = Content.assemble(
            (f"{SIGNS[block.change]} ", tone), sanitize_line(block.path.rpartition("/")[2])
        )
        right = Content.assemble(
            (f"{said} ● " if said else "", "$tone-accent"),
            (f"+{block.added}", "$tone-ok"),
            (f" −{block.removed}", "$tone-err"),
        )
        return TwoColumnRow(left, right)

    def _show_top(self) -> None:
        added = sum(file.block.added for file in self._files)
        removed = sum(file.block.removed for file in self._files)
        block = self._file.block
        place = f"{self._current + 1} of {count(len(self._files), 'file')}"
        path = sanitize_line(block.path)
        if block.moved_from:
            path += f" (from {sanitize_line(block.moved_from)})"
        comments = f"   {count(len(self._comments), 'comment')}" if self._comments else ""
        totals = ((f"+{added}", "$tone-ok"), (f" −{removed}", "$tone-err"))
        shown = (f"  {place}  ", "$tone-muted"), *totals, (comments, "bold")
        right = Content.assemble(*shown)
        if self.size.width - 4 - right.cell_length < MIN_PATH:  # the list has the numbers
            right = Content.assemble(shown[0], (comments.strip(), "bold"))
        room = max(10, self.size.width - 4 - right.cell_length)
        name = cut(path, room - MIN_TITLE if room >= MIN_PATH + MIN_TITLE else room)
        left = room - cell_len(name)
        title = cut(f"{self._title}: ", left) if left >= MIN_TITLE else ""
        top = Content.assemble((title, "$tone-muted"), (name, "bold")) + right
        self.query_one("#changes-top", Static).update(top)

    def _say(self, note: str) -> None:
        """Show *note*, or else the keys that have an effect."""
        line = self.query_one("#changes-keys", Static)
        if note:
            line.update(Content.styled(sanitize_line(note), "$tone-warn"))
            return
        pairs = [("c", "comment")]
        if self._labels.kept:
            pairs += [("a", "keep"), ("r", self._labels.revert)]
        if self._comments or self._marks_only:
            pairs.append(("enter", "done" if self._marks_only else "send"))
        elif self._confirm:
            pairs.append(("enter", self._confirm))
        pairs.append(("n p", "change"))
        if len(self._files) > 1:
            pairs.append(("tab", "file"))
        pairs += [("v", "select lines"), ("s", "layout")]
        if self._comments:
            pairs.append(("x", "remove the comment"))
        line.update(KeyHints(*pairs, ("esc", "close"), most_lines=2))

    # --- moving ---

    def _follow(self) -> None:
        pane, scroll = self._pane, self.query_one(VerticalScroll)
        region = pane.region_of_cursor.translate(pane.virtual_region.offset)
        scroll.scroll_to_region(region, animate=False)
        self._say("")

    @property
    def _writing(self) -> bool:
        """True while a comment is written: its lines must stay the same."""
        return self.query_one("#changes-comment", Input).has_focus

    def action_move(self, step: int) -> None:
        if not self._writing and self._pane.move(step):
            self._follow()

    def action_page(self, step: int) -> None:
        self.action_move(step * max(1, self.query_one(VerticalScroll).size.height - 2))

    def action_hunk(self, step: int) -> None:
        """Go to another change, also in the next file."""
        if self._pane.move_to_hunk(step):
            self._follow()
        elif 0 <= self._current + step < len(self._files):
            self.action_file(step)

    def action_file(self, step: int) -> None:
        if not self._writing:
            self._go_to_file((self._current + step) % len(self._files))

    def _go_to_file(self, index: int) -> None:
        self._current = index
        self._show_file()
        self.call_after_refresh(self._follow)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._go_to_file(event.option_index)

    def action_layout(self) -> None:
        """Show both sides side by side, or below each other."""
        pane = self._pane
        pane.style = "unified" if pane.style == "split" else "split"
        pane.redraw()

    # --- comments ---

    def action_select(self) -> None:
        self._pane.toggle_selection()

    def action_comment(self) -> None:
        """Write a comment on the selected lines, or edit the one that is there."""
        selected = self._pane.selected()
        if selected is None:
            self._say("There is no line to comment on.")
            return
        field = self.query_one("#changes-comment", Input)
        existing = self._comment_here()
        field.value = existing.text if existing is not None and not self._pane.selecting else ""
        field.add_class("-open")
        field.focus()
        field.cursor_position = len(field.value)

    def _comment_here(self) -> ReviewComment | None:
        selected = self._pane.selected()
        path = self._file.block.path
        return next(
            (
                each
                for each in self._comments
                if selected is not None
                and each.path == path
                and each.removed == selected.removed
                and each.first <= selected.last <= each.last
            ),
            None,
        )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        text = event.value.strip()
        selected = self._pane.selected()
        existing = None if self._pane.selecting else self._comment_here()
        self._end_comment()
        if selected is None or not text:
            return
        if existing is not None:
            self._comments[self._comments.index(existing)] = replace(existing, text=text)
        else:
            made = ReviewComment(
                self._file.block.path,
                selected.first,
                selected.last,
                selected.quoted,
                text,
                selected.removed,
            )
            self._comments.append(made)
            self._comments.sort(key=self._position)
        self._comments_changed()

    def _position(self, comment: ReviewComment) -> tuple[int, int]:
        paths = [file.block.path for file in self._files]
        return (paths.index(comment.path) if comment.path in paths else len(paths), comment.first)

    def _end_comment(self) -> None:
        field = self.query_one("#changes-comment", Input)
        field.remove_class("-open")
        self.set_focus(None)

    def action_remove_comment(self) -> None:
        existing = self._comment_here()
        if existing is None:
            self._say("There is no unsent comment on this line.")
            return
        self._comments.remove(existing)
        self._comments_changed()

    def _comments_changed(self) -> None:
        if self._keep is not None:
            self._keep(tuple(self._comments))
        self._show_file()
        self._say("")

    # --- hunks ---

    def action_keep(self, keep: bool) -> None:
        """Keep or revert the change at the cursor."""
        hunk, file = self._pane.hunk, self._file
        if not self._labels.kept or hunk is None:
            self._say("Changes cannot be reverted here.")
            return
        if self._write is not None and not file.can_revert:
            self._say("Only parts of this file are known, so it cannot be reverted here.")
            return
        path = file.block.path
        before = self._wanted.get(path, self._reverted.get(path, NOTHING_REVERTED))
        after = before - {hunk} if keep else before | {hunk}
        if after == before:
            self.action_hunk(1)
            return
        if self._write is None or self._tasks is None:
            self._mark(file, after)
        else:
            self._wanted[path] = after
            task = self._tasks.spawn(self._rewrite(self._write, file), "reverting a change")
            self._writes.add(task)
            task.add_done_callback(self._writes.discard)

    async def _rewrite(self, write: WriteHunks, file: ReviewedFile) -> None:
        """Write what is wanted of a file by now. One write at a time: keys can come faster."""
        path = file.block.path
        async with self._writing_files:
            before = self._reverted.get(path, NOTHING_REVERTED)
            after = self._wanted.pop(path, before)
            if after == before:
                return
            try:
                await write(file, file.all_hunks - before, file.all_hunks - after)
            except NothingToDo as error:
                self._wanted.pop(path, None)
                self._say(error.message)
            else:
                self._mark(file, after)

    def _mark(self, file: ReviewedFile, reverted: frozenset[int]) -> None:
        self._reverted[file.block.path] = reverted
        if is_open(self):
            self._show_file()

    # --- the end ---

    def _state(self, *, send: bool) -> ReviewState:
        return ReviewState(tuple(self._comments), dict(self._reverted), send)

    async def action_send(self) -> None:
        """Close, and send the comments; without any, confirm what the review is for."""
        if self._writes:
            await asyncio.wait(set(self._writes))
        if not self._comments and not self._marks_only and not self._confirm:
            self._say("There is no comment to send: c writes one.")
        else:
            self.dismiss(self._state(send=True))

    def action_close(self) -> None:
        if self._writing:
            self._end_comment()
        elif self._pane.selecting:
            self._pane.toggle_selection()
        else:
            self.dismiss(self._state(send=False))


def _placed(
    comment: ReviewComment,
    reply: str = "",
    *,
    sent: bool = False,
    block_of: ReviewedFile | None = None,
) -> PlacedComment:
    """Return where a comment is drawn. One that was sent follows its lines, which can have moved;
    if these are gone, it is at the top."""
    line, first, last = comment.last, comment.first, comment.last
    place = f"lines {first}–{last}" if first != last else ""
    if block_of is not None and comment.quoted:
        line = _line_now(comment, block_of)
        place = place or ("" if line else f"line {last}")
        place = place and f"{place} then"
    return PlacedComment(line, comment.removed, comment.text, reply, sent, place)


def _line_now(comment: ReviewComment, file: ReviewedFile) -> int:
    """Return the number of the last quoted line that is still there, 0 if none is."""
    shown = [line for hunk in file.block.hunks for line in hunk.lines]
    for quoted in reversed([each.strip() for each in comment.quoted if each.strip()]):
        same = [
            line.old if comment.removed else line.new
            for line in shown
            if line.text.strip() == quoted
        ]
        numbers = [number for number in same if number is not None]
        if numbers:
            return min(numbers, key=lambda number: abs(number - comment.last))
    return 0
