"""The undo preview, and a session whose last turn was undone."""

from dataclasses import replace

import pytest

from agent.records.events import SessionUpdated
from agent.session.undo import UndoFile, UndoPlan
from app.screens.undo import UndoChoice, UndoScreen
from app.session_state.view import SessionView
from tests.support.hosting import Host
from tests.support.records import snapshot, user
from tests.support.snapshots import assert_pictures, screen_text

PLAN = UndoPlan(
    session_id="ses_1",
    message_id="msg_1",
    text="Read empty CSV files as no rows,\nand add a test",
    messages=5,
    files=(
        UndoFile("src/reader.py", "will be reverted"),
        UndoFile("tests/test_empty.py", "will be deleted"),
        UndoFile("docs/import.md", "will be restored", modified_since=True),
    ),
    not_restorable=("data/sample.csv",),
    nested_repositories=("vendor/csvlib",),
)


@pytest.mark.parametrize(
    ("keys", "outcome"),
    [
        (["enter"], UndoChoice(files=True, conversation=True, overwrite=False)),
        (["c"], UndoChoice(files=False, conversation=True, overwrite=False)),
        (["f"], UndoChoice(files=True, conversation=False, overwrite=False)),
        (["o", "b"], UndoChoice(files=True, conversation=True, overwrite=True)),
        (["escape"], None),
    ],
)
async def test_each_key_gives_its_choice(keys: list[str], outcome: UndoChoice | None) -> None:
    host = Host(UndoScreen(PLAN))
    async with host.run_test() as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        assert host.outcomes == [outcome]


async def test_without_files_only_the_conversation_can_be_undone() -> None:
    host = Host(
        UndoScreen(replace(PLAN, files=(), not_restorable=(), reason="There is no git here."))
    )
    async with host.run_test() as pilot:
        await pilot.press("f")
        await pilot.pause()
        assert host.outcomes == []
        shown = screen_text(host)
        assert "and no file" in shown
        assert "enter undo   esc cancel\n" in shown


async def test_snapshots_of_the_preview() -> None:
    host = Host(UndoScreen(PLAN))
    async with host.run_test() as pilot:
        await assert_pictures(pilot, "screen-undo")


def test_undone_messages_disappear_and_redo_restores_them() -> None:
    messages = tuple(user(f"msg_{n}", f"words {n}") for n in range(3))
    view = SessionView(replace(snapshot(), messages=messages))
    change = view.apply(SessionUpdated(replace(view.session, undone_at="msg_1")))
    assert (view.message_ids, change.messages) == (["msg_0"], {"msg_1", "msg_2"})
    assert view.entry("msg_2") is None
    change = view.apply(SessionUpdated(replace(view.session, undone_at=None)))
    assert (len(view.message_ids), change.messages) == (3, {"msg_1", "msg_2"})
