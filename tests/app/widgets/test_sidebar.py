"""The sidebar: its content, when it is visible, and that nothing jumps when it appears."""

from dataclasses import replace
from pathlib import Path

import pytest

from agent.lsp.connection import LspStatus
from agent.records.background import ShellInfo
from agent.records.blocks import TodoItem
from agent.records.events import TodoUpdated
from app.session_state.folder_facts import LspSummary, McpSummary, lsp_summary
from app.session_state.view import NO_CHANGE, SessionView
from app.widgets.sidebar import WIDTH, ChangedFiles, Sidebar, SidebarContent, sidebar_text
from app.widgets.status import Status
from app.widgets.status import status_text as status_line
from tests.app.conftest import Running, Starter
from tests.app.screens.background_commands import run_in_background
from tests.app.screens.sample_session import at_work, opened, show_session
from tests.support import records
from tests.support.snapshots import assert_both_themes

TODOS = (
    TodoItem("Find the fault", "completed"),
    TodoItem("Fix the reader, and every other reader that has this fault", "in_progress"),
    TodoItem("テストを追加する: 空のファイルと見出しだけのファイル"),
    TodoItem("Rewrite the exporter", "cancelled"),
)
SHELL = ShellInfo(
    id="sh_1",
    session_id="ses_1",
    root_id="ses_1",
    command="npm run dev",
    description="",
    directory="/shop",
    started=0.0,
)
FULL = SidebarContent(
    context=34_000,
    limit=200_000,
    cost=0.42,
    todos=TODOS,
    changes={"src/imports/" + "deeply/" * 6 + "reader.py": (4, 2), "a.py": (0, 7), "b.py": (1, 0)},
    servers=McpSummary(3, 1, ("漢字の長い名前のサーバーです[/x]", "files")),
    shells=(SHELL,),
)


def rows(side: SidebarContent) -> list[str]:
    return [line.rstrip() for line in sidebar_text(side, WIDTH - 4).plain.split("\n")]


def test_it_shows_only_sections_with_content() -> None:
    text = "\n".join(rows(FULL))
    for expected in (
        "34.0k tokens, 17%",
        "$0.42 spent",
        "1 of 4 done",
        "☐ テスト",
        "deeply/reader.py +4 −2",
        "1 of 3 connected",
        "◐ npm run dev",
    ):
        assert expected in text
    assert rows(SidebarContent()) == [""]
    assert "To-do" not in "\n".join(rows(replace(FULL, todos=())))


def test_every_row_fits() -> None:
    assert all(line.cell_length <= WIDTH - 4 for line in sidebar_text(FULL, WIDTH - 4).split("\n"))


def test_a_long_to_do_list_shows_the_open_items() -> None:
    todos = tuple(TodoItem(f"step {n}", "completed" if n < 20 else "pending") for n in range(40))
    text = rows(SidebarContent(todos=todos))
    assert "☐ step 20" in text
    assert "☑ step 0" not in text
    assert text[-1] == "… 28 more"


def test_changed_files_add_up_over_the_session_and_follow_it() -> None:
    def edit(part: str, message: str, path: str, *lines: str):
        return records.tool(
            part, message, records.completed("Edit", path, records.diff(path, *lines))
        )

    view = SessionView(
        records.snapshot(
            records.assistant("msg_1", edit("prt_1", "msg_1", "a.py", "-x", "+y", "+z")),
            records.assistant("msg_2", edit("prt_2", "msg_2", "b.py", "+x")),
        )
    )
    changes = ChangedFiles()
    changes.update(view, NO_CHANGE)
    assert changes.files() == {"b.py": (1, 0), "a.py": (2, 1)}
    later = replace(records.assistant("msg_3", edit("prt_3", "msg_3", "a.py", "+more")), number=9)
    change = view.prepend((later,), 0)
    changes.update(view, change)
    assert list(changes.files().items()) == [("a.py", (3, 1)), ("b.py", (1, 0))]


def test_the_status_line_counts_commands_in_the_background() -> None:
    assert "1 shell" in status_line(Status(shells=1), 100).plain
    assert "2 shells" in status_line(Status(shells=2), 100).plain
    assert "shell" not in status_line(Status(), 100).plain


async def fill(running: Running) -> None:
    runtime, session = running.runtime, running.app.controller.live.session
    assert session is not None
    runtime.bus.publish(TodoUpdated(session.id, TODOS))
    await running.until(lambda: bool(running.app.controller.live.view.todos))


def sidebar(running: Running) -> Sidebar:
    return running.app.controller.main.query_one(Sidebar)


async def test_the_sidebar_of_a_wide_screen(start: Starter, tmp_path: Path) -> None:
    async with at_work(start, tmp_path, (160, 45)) as running:
        await fill(running)
        await running.until_shown("1 of 4 done")
        assert "+3 −1" in running.text()
        await assert_both_themes(running.pilot, "screen-sidebar")


@pytest.mark.parametrize("size", [(60, 24), (100, 30)])
async def test_a_key_toggles_it_and_the_visible_lines_stay(
    start: Starter, tmp_path: Path, size: tuple[int, int]
) -> None:
    async with opened(start, tmp_path, size) as running:
        await show_session(running)
        assert not sidebar(running).display
        await running.pilot.press("ctrl+x", "b")
        await running.until(lambda: sidebar(running).display)
        await running.until_shown("Changed files")
        assert "the new test covers" in running.text()
        await running.type("/sidebar", "enter")
        await running.until(lambda: not sidebar(running).display)
        assert "the new test covers" in running.text()


async def test_background_commands_are_listed(start: Starter, tmp_path: Path) -> None:
    async with opened(start, tmp_path, (160, 45)) as running:
        await show_session(running)
        await run_in_background(running, tmp_path / "shop", "sleep 300")
        await running.until_shown("In the background")
        await running.until_shown("1 shell")


def test_language_servers_and_their_errors() -> None:
    def status(name: str, state: str, errors: int = 0, root: str = "/a") -> LspStatus:
        return LspStatus(id=name, root=root, state=state, errors=errors)  # type: ignore[arg-type]

    found = lsp_summary(
        (
            status("pyright", "ready", 2),
            status("pyright", "ready", 1, "/b"),
            status("gopls", "failed"),
            status("clangd", "starting"),
            status("old", "ended"),
        )
    )
    assert found == LspSummary((("pyright", 3), ("clangd", 0)), ("gopls",))
    assert rows(SidebarContent(languages=found)) == [
        "Language servers",
        "● pyright  3 errors",
        "● clangd",
        "✕ gopls",
    ]
    assert rows(SidebarContent(languages=LspSummary())) == [""]
    assert "lsp ✕ gopls" in status_line(Status(languages=found), 100).plain
