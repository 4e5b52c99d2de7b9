"""The review of changes: comments that are sent, hunks that are reverted, and their replies."""

import asyncio
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from textual.widgets import OptionList

from app.screens.review.changes import ChangesScreen
from tests.app.conftest import WAIT, Running, Starter
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Text, answer
from tests.support.snapshots import assert_both_themes

OLD = "import csv\n\n\ndef read(path):\n    rows = csv.reader(open(path))\n    return rows\n"
TAIL = "".join(f"# {n}\n" for n in range(20)) + "\n\ndef write(path):\n    pass\n"
NEW = OLD.replace("csv.reader(open(path))", "list(csv.reader(open(path)))")
NEW_TAIL = TAIL.replace("    pass", "    raise NotImplementedError")


@pytest.fixture
def repository(work: Path) -> Path:
    for command in (("init", "-qb", "main"), ("add", "-A"), ("commit", "-qm", "first")):
        if command[0] == "add":
            (work / "reader.py").write_text(OLD + TAIL)
        names = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        subprocess.run(("git", *names, *command), cwd=work, check=True)
    (work / "reader.py").write_text(NEW + NEW_TAIL)
    (work / "notes.md").write_text("# Notes\n\n- one\n")
    return work


def said(scripted: ModelServer) -> str:
    """Return the last message that the model got from the user."""
    bodies = [request.body for request in scripted.requests if request.body.get("tools")]
    content = bodies[-1]["messages"][-1]["content"]
    return content if isinstance(content, str) else content[0]["text"]


async def opened(running: Running, command: str = "/review") -> ChangesScreen:
    await running.type(command, "enter")
    await running.until(lambda: isinstance(running.app.screen, ChangesScreen))
    await running.until(lambda: bool(running.app.screen.query_one(OptionList).options))
    await running.pilot.pause()
    screen = running.app.screen
    assert isinstance(screen, ChangesScreen)
    return screen


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_pictures(start: Starter, repository: Path, size: tuple[int, int]) -> None:
    async with start(size=size) as running:
        await opened(running)
        await running.pilot.press("tab", "v", "j", "c")
        await running.type("Close the file", "enter")
        await running.pilot.press("n", "r")
        await running.until_shown("✕ reverted")
        await assert_both_themes(running.pilot, "review-changes")


async def test_comments_are_sent_as_one_message_and_replies_come_back(
    start: Starter, repository: Path, scripted: ModelServer
) -> None:
    async with start() as running:
        scripted.always(_reply)
        await opened(running)
        await running.pilot.press("c")
        await running.type("Add two", "enter")
        await running.pilot.press("tab", "j", "c")
        await running.type("Why a list?", "enter", "enter")
        await running.until_idle()
        assert said(scripted) == (
            "Please address these 2 review comments on the working tree. Begin your final response "
            "with one line for each, starting with its number: what you did, or the answer.\n\n"
            "1. notes.md:1\n> # Notes\nAdd two\n\n"
            "2. reader.py:5\n>     rows = list(csv.reader(open(path)))\nWhy a list?"
        )
        await opened(running)
        await running.until_shown("Agent  Added two.")
        await running.pilot.press("tab")
        await running.until_shown("Agent  So that it can be read twice.")


def _reply(body: dict) -> Answer:
    if not body.get("tools"):
        return answer(Text("Review"))
    return answer(Text("1. Added two.\n2. So that it can be read twice.\n\nDone."))


async def test_a_comment_stays_with_those_of_its_lines_that_are_left(
    start: Starter, repository: Path, scripted: ModelServer
) -> None:
    path = repository / "notes.md"
    path.write_text("# Notes\n\n- one\n- two\n- three\n")
    async with start() as running:
        scripted.always(_reply)
        await opened(running)
        await running.pilot.press("j", "j", "v", "j", "j", "c")
        await running.type("Sort them", "enter")
        await running.until_shown("You, lines 3–5  Sort them")
        await running.pilot.press("enter")
        await running.until_idle()
        path.write_text("# All notes\n\nIntroduction\n\n- one\n")
        await opened(running)
        await running.until_shown("You, sent, lines 3–5 then  Sort them")
        assert re.search(r"5 \+ - one *\n[^\n]*▎ You, sent, lines 3–5 then", running.text())
        await running.pilot.press("escape")
        path.write_text("Nothing\n")
        await opened(running)
        await running.until_shown("You, sent, lines 3–5 then  Sort them")


async def test_changes_are_reverted_and_kept_again(start: Starter, repository: Path) -> None:
    path = repository / "reader.py"
    async with start() as running:
        await opened(running)
        await running.pilot.press("tab", "r")
        await running.until_shown("✕ reverted  change 1 of 2")
        assert path.read_text() == OLD + NEW_TAIL
        await running.pilot.press("n", "r")
        await running.until(lambda: path.read_text() == OLD + TAIL)
        await running.pilot.press("a")
        await running.until(lambda: path.read_text() == OLD + NEW_TAIL)


async def test_a_file_that_changed_meanwhile_stays(start: Starter, repository: Path) -> None:
    path = repository / "reader.py"
    async with start() as running:
        await opened(running)
        path.write_text("someone else\n")
        await running.pilot.press("tab", "r")
        await running.until_shown("has changed since")
        assert path.read_text() == "someone else\n"


async def test_comments_are_kept_edited_and_removed(start: Starter, repository: Path) -> None:
    async with start() as running:
        await opened(running)
        await running.pilot.press("c")
        await running.type("First", "enter")
        await running.pilot.press("escape")
        await running.until_shown("Your comments are kept")
        await opened(running)
        await running.until_shown("You  First")
        await running.pilot.press("c")
        await running.type(" thought", "enter")
        await running.until_shown("You  First thought")
        await running.pilot.press("x")
        await running.until(lambda: "First" not in running.text())
        await running.pilot.press("enter")
        await running.until_shown("There is no comment to send")


async def test_comments_outlive_the_program_from_the_moment_they_are_written(
    start: Starter, repository: Path, scripted: ModelServer
) -> None:
    async with start() as running:
        await opened(running)
        await running.pilot.press("c")
        await running.type("First", "enter")
        store, scope = running.runtime.store, str(repository)
        async with asyncio.timeout(WAIT):
            while not await store.review_draft(scope, "the working tree"):
                await running.pilot.pause()
    async with start() as running:
        scripted.always(_reply)
        await opened(running)
        await running.until_shown("You  First")
        await running.pilot.press("enter")
        await running.until_idle()
        assert await running.runtime.store.review_draft(scope, "the working tree") == ()
        await opened(running)
        await running.until_shown("Agent  Added two.")


async def test_nothing_to_review(start: Starter, repository: Path) -> None:
    (repository / "reader.py").write_text(OLD + TAIL)
    (repository / "notes.md").unlink()
    async with start() as running:
        await running.type("/review tree", "enter")
        await running.until_shown("There are no changes to review")
        await running.type("/review branch nowhere", "enter")
        await running.until_shown("There is no branch nowhere")


async def test_a_users_own_command_comes_first(start: Starter, folders: Mapping[str, str]) -> None:
    folder = Path(folders["XDG_CONFIG_HOME"]) / "opencode-py/command"
    folder.mkdir(parents=True)
    (folder / "review.md").write_text("Look at it closely")
    async with start() as running:
        await running.type("/rev")
        await running.until_shown("Look at it closely")


async def test_other_words_have_a_sub_agent_review(
    start: Starter, repository: Path, scripted: ModelServer
) -> None:
    async with start() as running:
        scripted.always(lambda body: answer(Text("All is well.")))
        await running.type("/review the last commit", "enter")
        await running.until_idle()
        assert any("the last commit" in str(request.body) for request in scripted.requests)
        assert not isinstance(running.app.screen, ChangesScreen)


async def test_every_key_of_the_review_is_shown_at_80_columns(
    start: Starter, repository: Path
) -> None:
    async with start(size=(80, 24)) as running:
        await opened(running)
        for key in ("tab file", "v select lines", "s layout", "n p change", "esc close"):
            assert key in running.text()
        assert "x remove the comment" not in running.text()
        await running.pilot.press("c")
        await running.type("Close the file", "enter")
        await running.until_shown("x remove the comment")
