"""Merging a worktree through the review of its changes."""

from collections.abc import Mapping
from pathlib import Path

from app.screens.review.changes import ChangesScreen
from tests.app.conftest import Running, Starter
from tests.app.tui.worktree_steps import folder_of, write_a_file
from tests.support.git import git
from tests.support.model_server import ModelServer
from tests.support.script import Answer, Call, Text, answer
from tests.support.subagents import Script, task

LINES = "".join(f"{number}\n" for number in range(1, 31))
CHANGED = LINES.replace("2\n", "two\n", 1).replace("29\n", "twenty-nine\n")


async def review(running: Running, command: str = "/merge") -> ChangesScreen:
    await running.type(command, "enter")
    await running.until(lambda: isinstance(running.app.screen, ChangesScreen))
    await running.until_shown("Review of the worktree")
    screen = running.app.screen
    assert isinstance(screen, ChangesScreen)
    return screen


async def confirm(running: Running, how: str = "enter", remove: str = "y") -> None:
    """Merge from the review with the first way, and answer whether to remove the worktree."""
    await running.pilot.press("enter")
    await running.until_shown("Merge opencode/")
    await running.pilot.press(how)
    await running.until_shown("Remove the worktree")
    await running.pilot.press(remove)


def commit_lines(folder: Path) -> None:
    (folder / "lines.txt").write_text(LINES)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "lines")


async def test_a_part_that_is_reverted_in_the_review_is_not_merged(
    scripted: ModelServer, start: Starter, shop: Path
) -> None:
    commit_lines(shop)
    async with start(size=(120, 40), worktree="fix") as running:
        folder = folder_of(running.app)
        (folder / "lines.txt").write_text(CHANGED)
        await review(running)
        await running.until_shown("enter merge")
        await running.pilot.press("r")
        await running.until_shown("✕ reverted")
        await confirm(running)
        await running.until_shown("The worktree fix and its branch are removed.")
        assert (shop / "lines.txt").read_text() == LINES.replace("29\n", "twenty-nine\n")


async def test_comments_of_the_review_go_to_the_session_and_nothing_is_merged(
    scripted: ModelServer, start: Starter, shop: Path
) -> None:
    async with start(size=(120, 40), worktree="fix") as running:
        await write_a_file(running, scripted)
        scripted.script(answer(Text("1. It names the file.\n\nDone.")))
        await review(running)
        await running.pilot.press("c")
        await running.type("Why made", "enter")
        await running.until_shown("enter send")
        await running.pilot.press("enter")
        await running.until_idle()
        await running.until_shown("Nothing was merged")
        assert not (shop / "made.txt").exists()
        assert "made.txt:1\\n> made\\nWhy made" in str(scripted.requests[-1].body)
        await review(running)
        await running.until_shown("Agent  It names the file.")
        await running.until_shown("enter merge")
        await confirm(running, remove="n")
        await running.until((shop / "made.txt").exists)
        assert folder_of(running.app).name == "fix"


async def test_a_review_that_is_closed_merges_nothing_and_keeps_its_comments(
    scripted: ModelServer, start: Starter, shop: Path
) -> None:
    async with start(size=(120, 40), worktree="fix") as running:
        folder = folder_of(running.app)
        (folder / "made.txt").write_text("made\n")
        await review(running)
        await running.pilot.press("c")
        await running.type("Not yet", "enter", "escape")
        await running.until_shown("Nothing was merged. /merge continues.")
        assert git(shop, "log", "--oneline").count("\n") == 1
        assert (folder / "made.txt").exists()
        await review(running)
        await running.until_shown("You  Not yet")


async def test_a_worktree_is_merged_from_another_session_by_its_name(
    scripted: ModelServer, start: Starter, shop: Path
) -> None:
    async with start(size=(120, 40), worktree="fix") as running:
        await write_a_file(running, scripted)
        there = running.app.controller.live.session
        assert there is not None
        await running.type("/new --main", "enter")
        await running.until(lambda: folder_of(running.app) == shop)
        await running.type("/merge nothing", "enter")
        await running.until_shown("There is no worktree nothing. The worktrees are: fix.")
        await running.type("/merge", "enter")
        await running.until_shown("Merge which worktree?")
        await running.pilot.press("escape")
        await review(running, "/merge fix squash")
        live = running.app.controller.live
        assert live.session is not None
        assert live.session.id == there.id
        await running.pilot.press("enter")
        await running.until_shown("are staged in")
        await running.pilot.press("n")
        assert git(shop, "status", "--short") == "A  made.txt\n"


async def test_the_worktree_of_a_sub_agent_is_merged_by_its_name(
    scripted: ModelServer, start: Starter, shop: Path, folders: Mapping[str, str]
) -> None:
    agents = Path(folders["XDG_CONFIG_HOME"]) / "opencode-py" / "agents"
    agents.mkdir()
    (agents / "builder.md").write_text("---\nmode: subagent\nisolation: worktree\n---\nBuild.\n")
    async with start(size=(120, 40)) as running:
        build: list[Answer] = [
            answer(Call("write", {"file_path": "made.txt", "content": "made\n"})),
            answer(Text("I wrote it.")),
        ]
        scripted.always(
            Script(answer(task("build", "builder")), answer(Text("it is built")), build=build)
        )
        await running.type("build it", "enter")
        await running.until(lambda: not running.app.controller.on_main_screen())
        await running.pilot.press("o")
        await running.until_shown("it is built")
        await running.until_idle()
        session = running.app.controller.live.session
        assert session is not None
        (child,) = await running.runtime.store.children(session.id)
        await running.app.controller.live.open(child.id)
        name = Path(child.project).name
        await running.until_shown(f"worktree {name}")
        assert folder_of(running.app) == shop
        await running.app.controller.live.open(session.id)
        await review(running, f"/merge {name}")
        await confirm(running)
        await running.until_shown(f"The worktree {name} and its branch are removed.")
        assert (shop / "made.txt").read_text() == "made\n"
        assert git(shop, "branch", "--list", "opencode/*") == ""


async def test_a_worktree_in_which_a_session_works_is_left_alone(
    scripted: ModelServer, start: Starter, shop: Path
) -> None:
    async with start(size=(120, 40), worktree="fix") as running:
        scripted.script(answer(Call("write", {"file_path": "made.txt", "content": "made\n"})))
        await running.type("write it", "enter")
        await running.until(lambda: not running.app.controller.on_main_screen())
        await running.pilot.press("ctrl+l")
        await running.type("/new --main", "enter")
        await running.until(lambda: folder_of(running.app) == shop)
        await running.type("/merge fix", "enter")
        await running.until_shown("A session works in the worktree fix.")
