"""Checkpoints: restoring what was there after a step, and a worktree from one."""

from pathlib import Path

from app.screens.review.screen import ReviewScreen
from app.screens.undo import UndoScreen
from tests.app.conftest import Running, Starter
from tests.app.tui.worktree_steps import folder_of
from tests.support.git import git
from tests.support.model_server import ModelServer
from tests.support.script import Call, Text, answer


async def two_steps(running: Running, scripted: ModelServer) -> None:
    """Have the agent write a file in two steps, and answer."""
    first = Call("write", {"file_path": "a.txt", "content": "one\n"})
    second = Call("edit", {"file_path": "a.txt", "old_string": "one", "new_string": "two"})
    scripted.script(answer(first), answer(second), answer(Text("both are made")))
    running.runtime.permissions.mode = "auto"
    await running.type("write it twice", "enter")
    await running.until_shown("both are made")
    await running.until_idle()


async def choose_first_checkpoint(running: Running) -> None:
    await running.pilot.press("ctrl+x", "g")
    await running.until(lambda: isinstance(running.app.screen, ReviewScreen))
    await running.until_shown("write it twice")
    if "◉ Checkpoint" not in running.text():
        await running.pilot.press("enter")
    await running.until_shown("◉ Checkpoint a.txt")
    screen = running.app.screen
    assert isinstance(screen, ReviewScreen)
    options = screen.query_one("OptionList")
    rows = list(screen._rows.values())
    options.highlighted = next(n for n, row in enumerate(rows) if "Checkpoint" in row.line.plain)
    await running.pilot.pause()


def has_text(path: Path, text: str) -> bool:
    """Return whether *path* has *text*; while git restores it, it is missing for a moment."""
    return path.exists() and path.read_text() == text


async def test_files_and_conversation_are_restored(
    scripted: ModelServer, start: Starter, shop: Path
) -> None:
    async with start(size=(140, 40)) as running:
        await two_steps(running, scripted)
        await choose_first_checkpoint(running)
        await running.pilot.press("u")
        await running.until(lambda: isinstance(running.app.screen, UndoScreen))
        await running.until_shown("Restore this checkpoint?")
        await running.pilot.press("enter")
        await running.until(lambda: has_text(shop / "a.txt", "one\n"))
        await running.until(lambda: "both are made" not in running.text())
        assert running.prompt == ""
        await running.type("/redo", "enter")
        await running.until(lambda: has_text(shop / "a.txt", "two\n"))
        await running.until_shown("both are made")
        await choose_first_checkpoint(running)
        await running.pilot.press("u")
        await running.until(lambda: isinstance(running.app.screen, UndoScreen))
        await running.pilot.press("enter")
        await running.until(lambda: has_text(shop / "a.txt", "one\n"))
        scripted.script(answer(Text("from there on")))
        await running.type("go on", "enter")
        await running.until_shown("from there on")
        assert "both are made" not in str(scripted.requests[-1].body)


async def test_a_worktree_begins_with_the_files_of_a_checkpoint(
    scripted: ModelServer, start: Starter, shop: Path
) -> None:
    async with start(size=(140, 40)) as running:
        await two_steps(running, scripted)
        await choose_first_checkpoint(running)
        await running.pilot.press("b")
        await running.until(lambda: folder_of(running.app) != shop)
        await running.until((folder_of(running.app) / "a.txt").exists)
        await running.until_shown("worktree work-1")
        await running.until_shown("write it twice")
        assert (folder_of(running.app) / "a.txt").read_text() == "one\n"
        assert (shop / "a.txt").read_text() == "two\n"
        session = running.app.controller.live.session
        assert session is not None
        assert session.directory == str(folder_of(running.app))
        assert "both are made" not in running.text()
        assert git(shop, "status", "--short") == "?? a.txt\n"
