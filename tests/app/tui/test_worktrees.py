"""Sessions in worktrees: making one, going between folders, merging and removing it."""

import asyncio
from pathlib import Path

from agent.records.messages import Session
from agent.runtime.runtime import Runtime
from tests.app.conftest import Starter
from tests.app.tui.worktree_steps import folder_of, write_a_file
from tests.support.git import git
from tests.support.model_server import ModelServer
from tests.support.script import Text, answer


async def test_work_in_a_worktree_comes_back(
    scripted: ModelServer, start: Starter, shop: Path
) -> None:
    async with start(size=(100, 30)) as running:
        scripted.script(answer(Text("hello from the main folder")))
        await running.type("hello", "enter")
        await running.until_shown("hello from the main folder")
        await running.until_idle()
        here = running.app.controller.live.session
        await running.type("/new --worktree fix", "enter")
        await running.until(lambda: folder_of(running.app).name == "fix")
        await running.until_shown("worktree fix")
        await write_a_file(running, scripted)
        assert not (shop / "made.txt").exists()
        assert (folder_of(running.app) / "made.txt").exists()
        there = running.app.controller.live.session
        assert here is not None
        assert there is not None
        await running.app.controller.live.open(here.id)
        assert folder_of(running.app) == shop
        await running.until(lambda: "worktree fix" not in running.text())
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("write it")
        await running.until_shown("worktree fix")
        await running.type("write it", "enter")
        await running.until(lambda: folder_of(running.app).name == "fix")
        await running.type("/merge remove", "enter")
        await running.until_shown("is kept: 1 file is not committed (made.txt).")
        await running.type("/merge", "enter")
        await running.until_shown("Review of the worktree fix")
        await running.until_shown("enter merge")
        await running.pilot.press("enter")
        await running.until_shown("Merge opencode/fix")
        await running.pilot.press("enter")
        await running.until_shown("opencode/fix is merged into main. Remove the worktree fix?")
        await running.pilot.press("y")
        await running.until_shown("The worktree fix and its branch are removed.")
        assert (shop / "made.txt").read_text() == "made\n"
        assert git(shop, "status", "--short") == git(shop, "branch", "--list", "opencode/*") == ""
        live = running.app.controller.live
        assert folder_of(running.app) == shop
        assert live.session is not None
        assert (live.session.id, live.session.directory) == (there.id, str(shop))
        await running.until_shown("it is written")


async def test_text_typed_while_a_session_opens_belongs_to_that(
    scripted: ModelServer, start: Starter, shop: Path
) -> None:
    async with start() as running:
        live = running.app.controller.live
        scripted.script(answer(Text("hello from the main folder")))
        await running.type("hello", "enter")
        await running.until_shown("hello from the main folder")
        await running.until_idle()
        here = live.session
        scripted.script(answer(Text("hello from the worktree")))
        await running.type("/new --worktree fix", "enter")
        await running.type("greet", "enter")
        await running.until_shown("hello from the worktree")
        await running.until_idle()
        assert folder_of(running.app).name == "fix"
        there = live.session
        assert here is not None
        assert there is not None
        assert here.id != there.id
        await running.type("a draft")
        opening = asyncio.Event()
        runtime_of = live.runtime_of

        async def slow(session: Session) -> Runtime | None:
            await opening.wait()
            return await runtime_of(session)

        live.runtime_of = slow
        await running.pilot.press("ctrl+x", "l")
        await running.until_shown("hello")
        await running.type("hello", "enter")
        await running.until(running.app.controller.on_main_screen)
        await running.type("/rename Typed early", "enter")
        opening.set()
        await running.until(
            lambda: live.session is not None and live.session.title == "Typed early"
        )
        assert live.session is not None
        assert live.session.id == here.id
        assert running.prompt == ""
        await live.open(there.id)
        await running.until(lambda: running.prompt == "a draft")


async def test_undo_follows_the_worktree(scripted: ModelServer, start: Starter, shop: Path) -> None:
    async with start(worktree="fix") as running:
        folder = folder_of(running.app)
        assert folder.name == "fix"
        await running.until_shown("worktree fix")
        await write_a_file(running, scripted)
        await running.type("/undo", "enter")
        await running.until_shown("Undo your last message?")
        await running.pilot.press("enter")
        await running.until(lambda: not (folder / "made.txt").exists())
        await running.type("/new --main", "enter")
        await running.until(lambda: folder_of(running.app) == shop)


async def test_a_session_of_a_worktree_is_resumed_there(
    scripted: ModelServer, start: Starter, shop: Path
) -> None:
    async with start(worktree="fix") as running:
        await write_a_file(running, scripted)
        session = running.app.controller.live.session
        assert session is not None
    async with start(session=session.id) as running:
        await running.until_shown("it is written")
        assert folder_of(running.app).name == "fix"
        await running.until_shown("worktree fix")


async def test_without_a_repository_it_says_why(start: Starter, work: Path) -> None:
    async with start() as running:
        await running.type("/new --worktree", "enter")
        await running.until_shown("There is no git repository in")
        assert folder_of(running.app) == work
        await running.type("/merge", "enter")
        await running.until_shown("This session is not in a worktree")
    async with start(worktree="", ready=False) as running:
        await running.until(lambda: running.app.return_code == 1)
        assert "no git repository" in running.app.exit_message
