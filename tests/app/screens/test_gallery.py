"""Snapshots of the screens that need no session: lists, fields, pages, and their empty states, each
at both sizes in dark and once in light."""

from collections.abc import AsyncGenerator, Callable
from functools import partial

import pytest
from textual.screen import Screen

from agent.lsp.connection import LspStatus, ServerSpec
from agent.lsp.formatters import Formatter
from agent.provider.device_login import LoginCode
from agent.records.blocks import TodoItem
from agent.records.memory import MemoryLine, MemoryOrigin
from agent.records.messages import Busy
from agent.records.review_comment import ReviewComment
from agent.records.spending import RateLimit, SpendingCap
from agent.records.usage import Usage
from agent.session.review.reviewed_file import reviewed_file
from agent.store.stats import UsageRow
from app.actions.permissions import MODES
from app.actions.program import Fact, status_text, todo_text
from app.actions.worktrees import MERGE_ROWS
from app.screens.background import BackgroundList, shell_rows
from app.screens.base.page import PageScreen
from app.screens.base.picker import Picker, Row
from app.screens.base.small_dialogs import ConfirmScreen, ErrorScreen, OwnServerScreen, TextScreen
from app.screens.code_login import CodeLoginScreen
from app.screens.memory import memory_text
from app.screens.pager import PagerScreen
from app.screens.prompt_lists import PromptsScreen, QueuedMessage, QueueScreen
from app.screens.quick_question import QuickQuestionScreen
from app.screens.review.changes import REVERT, ChangesScreen, ReviewState, SentComment
from app.screens.servers import LoginScreen, LspScreen, McpScreen, lsp_text
from app.screens.spending import spending_text
from app.screens.usage import stats_text
from app.terminal.tasks import Tasks
from app.theme import themes
from tests.app.screens.background_commands import info
from tests.support.hosting import Host
from tests.support.snapshots import assert_pictures


async def spoken() -> AsyncGenerator[str, None]:
    yield "It is read in `src/imports/reader.py`:\n\n- once at the start\n- never again"


async def never(*_: object) -> bool:
    return False


async def never_checked(*_: str) -> str:
    return ""


def agents() -> Picker:
    rows = [
        Row("build", "build", "makes changes", "Agents"),
        Row("plan", "plan", "reads and plans, edits nothing", "Agents"),
        Row("docs", "docs", "表を書く [/x], ~/.config/opencode-py/agents/docs.md", "Your own"),
    ]
    return Picker("Agents", rows, current="plan")


def pager() -> PagerScreen:
    text = "\x1b[32mok\x1b[0m tests/test_reader.py\n" * 40 + "表を書く\n" + "word " * 60
    return PagerScreen("Bash make test", text, open_pager=str, copy=str)


def themes_list() -> Picker:
    rows = [Row(name, name) for name in ("auto", "nord", themes.DARK, themes.LIGHT)]
    return Picker("Themes", rows, current=themes.DARK)


def servers() -> LspScreen:
    statuses = (
        LspStatus(id="pyright", root="/home/me/shop", state="ready", files=12, errors=2),
        LspStatus(id="gopls", root="/home/me/shop/api", state="starting"),
        LspStatus(
            id="rust", root="/home/me/shop", state="failed", reason="rust-analyzer ended: exit 1."
        ),
    )
    specs = (ServerSpec(id="typescript", command=("tsserver",), extensions=(".ts", ".tsx")),)
    formatters = (
        Formatter(id="ruff", command=("ruff", "format", "$FILE"), extensions=(".py", ".pyi")),
    )
    return LspScreen(lsp_text(statuses, specs, formatters), lambda: None)


def waiting() -> QueueScreen:
    return QueueScreen(
        (
            QueuedMessage("msg_1", "Use the other reader instead", "steer"),
            QueuedMessage("msg_2", "Then write the changelog\nwith all names", "follow_up"),
        ),
        status=Busy(since=1_000.0),
        tasks=Tasks(print, print),
        drop=never,
        deliver=never,
    )


def shells() -> BackgroundList:
    listed = (
        info("npm run dev -- --port 8080"),
        info("make watch", state="exited", exit_code=2, ended=1_003.0),
        info("sleep 900", state="killed", signal="SIGTERM", ended=1_001.0),
    )
    return BackgroundList("Background commands", shell_rows(listed, 1_072.0), stop=str)


def status() -> PageScreen:
    facts = (
        Fact("Version", "1.0.0"),
        Fact("Folder", "/home/me/shop"),
        Fact("Trust", "not trusted: /trust lists what is ignored", "$tone-warn"),
        Fact("Session", "Fix empty CSV import"),
        Fact("", "ses_01abc", "$tone-muted"),
        Fact("Model", "demo/offline, effort high"),
        Fact("MCP", "1 of 2 connected"),
        Fact("", "not connected: shop", "$tone-warn"),
    )
    return PageScreen("Status", partial(status_text, facts))


def todo() -> PageScreen:
    items = (
        TodoItem("Find the fault", "completed"),
        TodoItem("Fix the reader", "in_progress"),
        TodoItem("Add a test"),
        TodoItem("Rewrite the exporter", "cancelled"),
    )
    return PageScreen("To-do list", todo_text(items))


def code_login() -> CodeLoginScreen:
    screen = CodeLoginScreen("GitHub Copilot", open_page=never, copy=str, paste=str)
    screen.show_code(LoginCode("ABCD-1234", "https://github.com/login/device", "", 5, 900))
    return screen


def changes() -> ChangesScreen:
    old = "import csv\n\n\ndef read(path):\n    old = 1\n    return old\n"
    files = (
        reviewed_file("notes.md", None, "# Notes\n\n- `one`\n"),
        reviewed_file("src/reader.py", old, old.replace("old", "new")),
    )
    comment = ReviewComment("src/reader.py", 5, 6, (), "Why two names for one thing?")
    sent = ReviewComment("notes.md", 3, 3, ("- `one`",), "Name the second one too.")
    return ChangesScreen(
        "Review of the working tree",
        tuple(reversed(files)),
        labels=REVERT,
        state=ReviewState((comment,)),
        sent=(SentComment(sent, "Added it."),),
    )


def merge() -> ChangesScreen:
    old = "import csv\n\n\ndef read(path):\n    return list(csv.reader(open(path)))\n"
    new = old.replace("list(csv.reader(open(path)))", "[row for row in rows(path) if row]")
    files = (
        reviewed_file("src/reader.py", old, new),
        reviewed_file("tests/test_reader.py", None, "def test_empty():\n    assert True\n"),
    )
    title = "Review of the worktree empty-csv"
    return ChangesScreen(title, files, write=never, labels=REVERT, confirm="merge")


def modes() -> Picker:
    rows = [Row(name, name, text) for name, text in MODES.items()]
    return Picker("Permission mode", rows, current="ask")


def stats() -> PageScreen:
    rows = [
        UsageRow(f"2026-01-{day:02}", model, f"/home/me/{place}", 9, 2, Usage(tokens, 900), cost)
        for day, model, place, tokens, cost in (
            (1, "anthropic/claude-sonnet-5-5", "shop", 120_000, 0.42),
            (1, "ollama/qwen3-coder", "表の幅", 64_000, None),
            (3, "anthropic/claude-sonnet-5-5", "shop", 800_000, 2.4),
            (4, "anthropic/claude-haiku-5-5", "notes", 5_000, 0.01),
        )
    ]
    return PageScreen("Tokens of the last 30 days, in all folders", partial(stats_text, rows))


def spending() -> PageScreen:
    caps = (
        SpendingCap("session", "cost", 4.31, 5.0),
        SpendingCap("session", "tokens", 812_000),
        SpendingCap("day", "cost", 20.4, 20.0),
        SpendingCap("day", "tokens", 2_100_000, 10_000_000),
    )
    limits = (
        RateLimit("requests", 0.9, 45, 50, 60.0),
        RateLimit("input tokens", 0.1, 3_000, 30_000, 70.0),
        RateLimit("5h", 0.6, resets=7_500.0),
    )
    return PageScreen("Spending", partial(spending_text, caps, {"anthropic": (24.0, limits)}, 36.0))


def memory() -> PageScreen:
    agent = MemoryOrigin("agent", 0.0, "ses_1", edited=True)
    lines = (
        MemoryLine("# Instructions for coding agents"),
        MemoryLine("- Use pnpm, [never] npm"),
        MemoryLine("- Tests run with `make test`", agent, "Fix the import of 表"),
        MemoryLine("- No tabs", MemoryOrigin("user", 86_400.0)),
        MemoryLine("- The API is at api/", MemoryOrigin("agent", 0.0, "ses_gone")),
    )
    page = partial(memory_text, "/home/me/shop/AGENTS.md", lines)
    return PageScreen("Project memory", page)


SCREENS: dict[str, Callable[[], Screen[object]]] = {
    "agents": agents,
    "pager": pager,
    "memory": memory,
    "spending": spending,
    "themes": themes_list,
    "prompts": lambda: PromptsScreen(("Fix the import\nof empty files", "表を直す", "Run it")),
    "prompts-empty": lambda: PromptsScreen(()),
    "mcp-empty": lambda: McpScreen((), lambda *_: None),
    "code-login": code_login,
    "mcp-login": lambda: LoginScreen("github", "https://login.example.org/a?b=c", opened=False),
    "lsp": servers,
    "lsp-empty": lambda: LspScreen(lsp_text((), (), ()), lambda: None),
    "waiting": waiting,
    "shells": shells,
    "status": status,
    "todo": todo,
    "changes": changes,
    "merge": merge,
    "merge-ways": lambda: Picker("Merge opencode/empty-csv", MERGE_ROWS),
    "modes": modes,
    "own-server": lambda: OwnServerScreen(never_checked),
    "stats": stats,
    "aside": lambda: QuickQuestionScreen("Where is the header read?", spoken(), lambda _: None),
    "rename": lambda: TextScreen("Name this session", "Fix empty CSV import"),
    "delete": lambda: ConfirmScreen("Delete “Fix the import”?", "This cannot be undone."),
    "error": lambda: ErrorScreen("ValueError: a fault [/x]", "~/log/opencode-py.log"),
}


@pytest.mark.parametrize("name", SCREENS)
async def test_snapshots_of_the_screen(name: str) -> None:
    app = Host(SCREENS[name])
    async with app.run_test(size=(80, 24)) as pilot:
        await app.workers.wait_for_complete()
        for line in app.screen.query("Input"):
            line.cursor_blink = False
        await pilot.pause()
        await assert_pictures(pilot, f"screen-{name}")
