"""A view built late equals one that saw every event."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.records.blocks import TodoItem
from agent.records.events import (
    Event,
    MessageRemoved,
    MessageUpdated,
    Notice,
    PartDelta,
    PartRemoved,
    PartUpdated,
    PermissionAsked,
    PermissionReplied,
    QuestionAsked,
    QuestionReplied,
    QueueChanged,
    Resync,
    SessionStatusChanged,
    SessionUpdated,
    TodoUpdated,
)
from agent.records.messages import (
    Busy,
    Message,
    MessageWithParts,
    Part,
    Pending,
    SessionStatus,
    TextPart,
    ToolPart,
)
from agent.records.requests import PermissionRequest, Question
from agent.session.api import SessionSnapshot
from app.session_state.view import KEPT_MESSAGES, MAX_MESSAGES, Change, SessionView
from tests.support.records import (
    SESSION,
    assistant,
    completed,
    open_assistant,
    pending,
    reasoning,
    session,
    snapshot,
    text_part,
    tool,
    user,
)


class Source:
    """A session that changes as the store does, and publishes the events."""

    def __init__(self) -> None:
        self.messages: dict[str, Message] = {}
        self.parts: dict[str, dict[str, Part]] = {}
        self.status: SessionStatus = snapshot().status
        self.queued: tuple[str, ...] = ()
        self.todos: tuple[TodoItem, ...] = ()
        self.count = 0

    def snapshot(self) -> SessionSnapshot:
        messages = tuple(
            MessageWithParts(m, tuple(self.parts[m.id][i] for i in sorted(self.parts[m.id])))
            for m in sorted(self.messages.values(), key=lambda m: m.id)
        )
        return SessionSnapshot(
            session=session(),
            messages=messages,
            status=self.status,
            queued=self.queued,
            todos=self.todos,
        )

    def step(self, choice: int, pick: int) -> Event:
        open_parts = [p for parts in self.parts.values() for p in parts.values() if _open(p)]
        if choice <= 4 and open_parts:
            return self._delta(open_parts[pick % len(open_parts)])
        if choice <= 6 and self.messages:
            return self._new_part(sorted(self.messages)[pick % len(self.messages)])
        if choice == 7 and open_parts:
            return self._end(open_parts[pick % len(open_parts)])
        if choice == 8 and self.messages:
            return self._remove(sorted(self.messages)[pick % len(self.messages)])
        if choice == 9:
            self.queued = tuple(sorted(self.messages)[: pick % 3])
            return QueueChanged(SESSION, self.queued)
        if choice == 10:
            self.status = Busy(float(pick))
            return SessionStatusChanged(SESSION, self.status)
        if choice == 11:
            self.todos = (TodoItem(f"do {pick}"),)
            return TodoUpdated(SESSION, self.todos)
        self.count += 1
        message_id = f"msg_{self.count:04d}"
        made = user(message_id, "") if pick % 2 else open_assistant(message_id)
        self.messages[message_id] = made.message
        self.parts[message_id] = {}
        return MessageUpdated(made.message)

    def _put(self, part: Part) -> Part:
        self.parts[part.message_id][part.id] = part
        return part

    def _new_part(self, message_id: str) -> Event:
        self.count += 1
        part_id = f"prt_{self.count:04d}"
        if self.count % 2:
            return PartUpdated(self._put(tool(part_id, message_id, pending())))
        return PartUpdated(self._put(text_part(part_id, message_id, "", ended=None)))

    def _delta(self, part: Part) -> Event:
        self.count += 1
        delta = f"+{self.count}"
        if isinstance(part, TextPart):
            self._put(replace(part, text=part.text + delta))
            return PartDelta(SESSION, part.message_id, part.id, "text", len(part.text), delta)
        assert isinstance(part, ToolPart)
        assert isinstance(part.state, Pending)
        raw = part.state.raw
        self._put(replace(part, state=Pending(raw=raw + delta)))
        return PartDelta(SESSION, part.message_id, part.id, "raw", len(raw), delta)

    def _end(self, part: Part) -> Event:
        if isinstance(part, TextPart):
            return PartUpdated(self._put(replace(part, ended=5.0)))
        assert isinstance(part, ToolPart)
        return PartUpdated(self._put(replace(part, state=completed("Read", "a.py"))))

    def _remove(self, message_id: str) -> Event:
        if self.parts[message_id]:
            part_id = min(self.parts[message_id])
            del self.parts[message_id][part_id]
            return PartRemoved(SESSION, message_id, part_id)
        del self.messages[message_id]
        del self.parts[message_id]
        return MessageRemoved(SESSION, message_id)


def _open(part: Part) -> bool:
    if isinstance(part, TextPart):
        return part.ended is None
    return isinstance(part, ToolPart) and isinstance(part.state, Pending)


@settings(max_examples=150)
@given(
    steps=st.lists(st.tuples(st.integers(0, 14), st.integers(0, 40)), max_size=80),
    late=st.integers(0, 80),
)
def test_late_view_equals_one_that_saw_everything(steps: list[tuple[int, int]], late: int) -> None:
    """Also when deltas that the snapshot already contains arrive again."""
    source = Source()
    early = SessionView(source.snapshot())
    later: SessionView | None = None
    deltas: list[Event] = []
    for index, (choice, pick) in enumerate(steps):
        if index == late:
            later = SessionView(source.snapshot())
            for event in deltas:
                later.apply(event)
        event = source.step(choice, pick)
        deltas = [*deltas, event] if isinstance(event, PartDelta) else []
        early.apply(event)
        if later is not None:
            later.apply(event)
    later = later or SessionView(source.snapshot())
    assert not early.stale
    assert not later.stale
    assert early.snapshot() == source.snapshot()
    assert later.snapshot() == source.snapshot()


def _streaming() -> SessionView:
    part = text_part("prt_1", "msg_1", "abc", ended=None)
    return SessionView(snapshot(open_assistant("msg_1", part)))


def _delta(offset: int, text: str, *, part: str = "prt_1", message: str = "msg_1") -> PartDelta:
    return PartDelta(SESSION, message, part, "text", offset, text)


def _text(view: SessionView) -> str:
    entry = view.entry("msg_1")
    assert entry is not None
    part = entry.parts[0]
    assert isinstance(part, TextPart)
    return part.text


@pytest.mark.parametrize(
    ("offset", "text", "expected"),
    [(3, "de", "abcde"), (0, "abc", "abc"), (1, "bcd", "abcd"), (2, "c", "abc")],
)
def test_delta_below_the_held_length_is_dropped(offset: int, text: str, expected: str) -> None:
    view = _streaming()
    view.apply(_delta(offset, text))
    assert _text(view) == expected
    assert not view.stale


@pytest.mark.parametrize(
    "event",
    [
        _delta(4, "x"),
        _delta(0, "x", part="prt_9"),
        _delta(0, "x", message="msg_9"),
        PartUpdated(text_part("prt_9", "msg_9", "x")),
        Resync(),
    ],
)
def test_gap_or_unknown_part_makes_the_view_stale(event: Event) -> None:
    """Missed events are read again, never guessed."""
    view = _streaming()
    assert view.apply(event).stale
    assert view.stale
    assert _text(view) == "abc"


def test_delta_of_a_page_that_is_not_loaded_is_no_gap() -> None:
    before = snapshot(assistant("msg_5", text_part("prt_5", "msg_5", "x")), older=2)
    view = SessionView(before)
    assert not view.apply(_delta(7, "x", message="msg_1"))
    assert not view.stale


def test_a_change_event_names_the_changed_records() -> None:
    view = _streaming()
    change = view.apply(_delta(3, "d"))
    change |= view.apply(MessageUpdated(assistant("msg_1").message))
    assert change == Change(
        messages=frozenset({"msg_1"}), parts=frozenset({"prt_1"}), parts_of=frozenset({"msg_1"})
    )
    assert not view.apply(Notice("no session"))


def test_events_of_other_sessions_change_nothing() -> None:
    view = _streaming()
    before = view.snapshot()
    other = replace(assistant("msg_1").message, session_id="ses_2")
    assert not view.apply(MessageUpdated(other))
    assert not view.apply(SessionUpdated(session("ses_2")))
    assert not view.apply(PartDelta("ses_2", "msg_1", "prt_1", "text", 3, "d"))
    assert view.snapshot() == before


def test_an_older_page_is_inserted_before_the_loaded_one() -> None:
    view = SessionView(snapshot(assistant("msg_5"), older=2))
    view.prepend((assistant("msg_1"), assistant("msg_2")), older=0)
    assert view.message_ids == ["msg_1", "msg_2", "msg_5"]
    assert view.index("msg_2") == 1
    assert view.index("msg_3") is None


def test_messages_stand_at_the_places_that_the_store_gave_them() -> None:
    """Ids come from clocks that can be set back."""
    queued = user("msg_1", "then", turn=None).message
    view = SessionView(snapshot(replace(user("msg_9", "first"), number=4)))
    view.apply(MessageUpdated(queued, 5))
    view.apply(MessageUpdated(user("msg_2", "").message, 6))
    assert view.message_ids == ["msg_9", "msg_1", "msg_2"]
    view.apply(MessageUpdated(replace(queued, turn_id="trn_1"), 7))
    assert view.message_ids == ["msg_9", "msg_2", "msg_1"]
    view.apply(MessageUpdated(replace(user("msg_9", "").message, pinned=True), 4))
    assert view.message_ids == ["msg_9", "msg_2", "msg_1"]
    view.apply(SessionUpdated(replace(view.session, undone_at="msg_2")))
    assert view.message_ids == ["msg_9"]
    assert view.entry("msg_1") is None


def test_a_message_of_a_page_that_is_not_loaded_is_not_shown() -> None:
    view = SessionView(snapshot(replace(user("msg_9", ""), number=4), older=3))
    assert not view.apply(MessageUpdated(user("msg_1", "").message, 2))
    assert view.apply(MessageUpdated(user("msg_2", "").message, 5))
    assert view.message_ids == ["msg_9", "msg_2"]


def test_a_long_session_keeps_only_its_newest_messages() -> None:
    """Memory stays flat. Dropped messages are read again as a page, and events about them change
    nothing until then."""
    whole = tuple(user(f"msg_{n:04}", f"prompt {n}") for n in range(MAX_MESSAGES + 1))
    view = SessionView(snapshot(*whole[:MAX_MESSAGES], older=7))
    view.trim()
    assert len(view.message_ids) == MAX_MESSAGES
    view.apply(MessageUpdated(whole[MAX_MESSAGES].message, MAX_MESSAGES + 1))
    view.trim()
    assert view.message_ids == [item.message.id for item in whole[-KEPT_MESSAGES:]]
    assert view.older == 7 + MAX_MESSAGES + 1 - KEPT_MESSAGES
    assert view.entry("msg_0000") is None
    assert not view.apply(PartDelta(SESSION, "msg_0000", "msg_0000a", "text", 0, "x")).stale
    view.prepend(whole[-KEPT_MESSAGES - 100 : -KEPT_MESSAGES], view.older - 100)
    assert len(view.message_ids) == KEPT_MESSAGES + 100


def test_nothing_is_dropped_while_messages_are_undone() -> None:
    """The position is given by a message that must stay."""
    whole = tuple(user(f"msg_{n:04}", f"prompt {n}") for n in range(MAX_MESSAGES + 1))
    view = SessionView(snapshot(*whole))
    view.apply(SessionUpdated(replace(session(), undone_at="msg_0003")))
    view.trim()
    assert view.entry("msg_0002") is not None


def test_a_permission_request_of_the_tree_is_pending_until_its_reply() -> None:
    """A sub-agent's request reaches the root session."""
    view = _streaming()
    request = PermissionRequest(
        id="per_1",
        session_id="ses_child",
        root_id=SESSION,
        message_id="msg_8",
        call_id="call_1",
        agent="general",
        tool="bash",
        heading="Run this command?",
        folder="/shop",
        blocks=(),
        needs=(),
        always=(),
        created=1.0,
    )
    assert view.apply(PermissionAsked(request)).other
    assert not view.apply(PermissionAsked(request))
    assert view.permissions == (request,)
    view.apply(PermissionReplied("per_1", "ses_child", None))
    assert view.permissions == ()


def test_reasoning_grows_by_deltas() -> None:
    part = reasoning("prt_1", "msg_1", "a", ended=None)
    view = SessionView(snapshot(open_assistant("msg_1", part)))
    view.apply(_delta(1, "b"))
    entry = view.entry("msg_1")
    assert entry is not None
    assert entry.parts[0] == reasoning("prt_1", "msg_1", "ab", ended=None)


def test_a_question_of_the_tree_is_pending_until_its_reply() -> None:
    view = _streaming()
    question = Question("que_1", "ses_child", view.session_id, "", "x?", ())
    assert not view.apply(QuestionAsked(replace(question, root_id="ses_other")))
    assert view.apply(QuestionAsked(question)).other
    assert not view.apply(QuestionAsked(question))
    assert view.snapshot().questions == (question,)
    assert not view.apply(QuestionReplied("que_2", "ses_child", None))
    assert view.apply(QuestionReplied("que_1", "ses_child", None)).other
    assert view.questions == ()
