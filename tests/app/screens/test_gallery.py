"""Snapshots of the screens that need no session: lists, fields, pages, and their empty states, each
at both sizes in dark and once in light."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from functools import partial

import pytest
from textual.screen import Screen

from agent.lsp.connection import LspStatus, ServerSpec
from agent.lsp.formatters import Formatter
from agent.provider.device_login import LoginCode
from agent.records.blocks import TodoItem
from agent.records.memory import MemoryLine, MemoryOrigin
from agent.records.messages import AssistantMessage, Busy, MessageWithParts
from agent.records.review_comment import ReviewComment
from agent.records.spending import RateLimit, SpendingCap
from agent.records.usage import Usage
from agent.session.fallback import FallbackState
from agent.session.review.reviewed_file import reviewed_file
from agent.store.stats import UsageRow
from app.actions.permissions import MODES
from app.actions.program import Fact, status_text, todo_text
from app.actions.worktrees import MERGE_ROWS
from app.screens.background import BackgroundList, shell_rows, subagent_row
from app.screens.base.page import PageScreen
from app.screens.base.picker import Picker, Row
from app.screens.base.small_dialogs import ConfirmScreen, ErrorScreen, OwnServerScreen, TextScreen
from app.screens.code_login import CodeLoginScreen
from app.screens.memory import memory_text
from app.screens.model import fallback_text
from app.screens.pager import PagerScreen
from app.screens.prompt_lists import PromptsScreen, QueuedMessage, QueueScreen
from app.screens.quick_question import QuickQuestionScreen
from app.screens.review.changes import REVERT, ChangesScreen, ReviewState, SentComment
from app.screens.review.screen import PastRequestScreen
from app.screens.servers import LoginScreen, LspScreen, McpScreen, lsp_text
from app.screens.spending import spending_text
from app.screens.theme import ThemeScreen
from app.screens.usage import stats_text
from app.terminal.tasks import Tasks
from app.theme import themes
from tests.app.screens.background_commands import info
from tests.support import records
from tests.support.hosting import Host
from tests.support.snapshots import assert_pictures


async def spoken() -> AsyncGenerator[str, None]:
    yield (
        "It is read in `read_rows` of `src/imports/reader.py`:\n\n"
        "- once per file, before the first row\n- `preview.py` reads it a second time"
    )


async def never(*_: object) -> bool:
    return False


async def never_checked(*_: str) -> str:
    return ""


def agents() -> Picker:
    rows = [
        Row("build", "build", "makes changes", "Built in"),
        Row("plan", "plan", "reads and plans, edits nothing", "Built in"),
        Row("docs", "docs", "writes the documentation in docs/ja (日本語)", "Your own"),
    ]
    return Picker("Agents", rows, current="plan")


def pager() -> PagerScreen:
    passed = (
        f"tests/test_{name}.py::test_{case} \x1b[32mPASSED\x1b[0m"
        for name in ("reader", "exporter", "prices", "orders", "表")
        for case in ("empty_file", "one_row", "quoted_comma", "bom", "no_newline", "utf16")
    )
    failed = (
        "\x1b[31mFAILED\x1b[0m tests/test_cli.py::test_import - AssertionError: the program wrote "
        "“0 rows imported” where “3 rows imported, 1 skipped” was expected, and exited 0"
    )
    text = "\n".join((*passed, failed, "1 failed, 30 passed in 2.41s"))
    return PagerScreen("Bash make test", text, open_pager=str, copy=str)


def themes_list() -> Picker:
    return ThemeScreen((themes.DARK, themes.LIGHT, "nord", "gruvbox"), current=themes.DARK)


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
    return LspScreen(lsp_text(statuses, specs, formatters, "/home/me"), lambda: None)


def waiting() -> QueueScreen:
    return QueueScreen(
        (
            QueuedMessage("msg_1", "Use csv.Sniffer for the delimiter instead", "steer"),
            QueuedMessage(
                "msg_2", "Then add a line to the changelog\nand to docs/import.md", "follow_up"
            ),
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


def fallback() -> PageScreen:
    model = "anthropic/claude-sonnet-5-5"
    failures = {model: (250.0, "Anthropic is overloaded (529).")}
    state = FallbackState("ask", ("openai/gpt-5.5", "ollama/qwen3-coder"), failures)
    return PageScreen("Fallback models", partial(fallback_text, state, model, 0.0))


def request_of_a_step() -> PastRequestScreen:
    """The request of the second step of a turn: the prompt, a call and its result."""
    asked = records.user("msg_a", "Why does the import of an empty CSV crash? Fix it.")
    path = "src/imports/reader.py"
    read = replace(
        records.completed("Read", path), input={"file_path": path}, output=READER.rstrip()
    )
    said = records.text_part("prt_b1", "msg_b", "I'll look at the reader first.")
    first = records.assistant("msg_b", said, records.tool("prt_b2", "msg_b", read))
    second = records.assistant("msg_c").message
    assert isinstance(second, AssistantMessage)
    second = replace(second, step=2, model="anthropic/claude-sonnet-5-5")
    return PastRequestScreen((asked, first, MessageWithParts(second, ())), second, ())


def subagents() -> BackgroundList:
    rows = [
        subagent_row("ses_c", "Check the other readers", "general", "working", "2m"),
        subagent_row("ses_b", "Find the callers of read_rows", "explore", "needs you"),
        subagent_row("ses_d", "Run the slow tests", "general", "background", "12m"),
        subagent_row("ses_a", "List the formats of the importer", "explore"),
    ]
    return BackgroundList("Sub-agents", rows, stop=str, enter="open", current="ses_c")


def status() -> PageScreen:
    facts = (
        Fact("Version", "1.0.0"),
        Fact("Folder", "~/shop"),
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
        TodoItem("Find why an empty file crashes the import", "completed"),
        TodoItem("Return no rows from read_rows", "in_progress"),
        TodoItem("Add a test with a file of 0 bytes"),
        TodoItem("Rewrite the exporter", "cancelled"),
    )
    return PageScreen("To-do list", todo_text(items))


def code_login() -> CodeLoginScreen:
    screen = CodeLoginScreen("GitHub Copilot", open_page=never, copy=str, paste=str)
    screen.show_code(LoginCode("ABCD-1234", "https://github.com/login/device", "", 5, 900))
    return screen


READER = """\
import csv
from pathlib import Path


def read_rows(path: Path) -> Iterator[Row]:
    with path.open(newline="") as file:
        rows = csv.reader(file)
        header = next(rows)
        for row in rows:
            yield dict(zip(header, row, strict=True))
"""
FIXED_READER = READER.replace(
    "        header = next(rows)\n",
    "        header = next(rows, None)\n        if header is None:\n            return\n",
)
READER_TEST = """\
from shop.imports.reader import read_rows


def test_an_empty_file_has_no_rows(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").touch()
    assert list(read_rows(tmp_path / "empty.csv")) == []
"""


def changes() -> ChangesScreen:
    files = (
        reviewed_file("src/imports/reader.py", READER, FIXED_READER),
        reviewed_file("docs/import.md", None, "# Import\n\n- an empty file has no rows\n"),
    )
    comment = ReviewComment(
        "src/imports/reader.py", 8, 9, (), "Log the path of the empty file too."
    )
    quoted = ("- an empty file has no rows",)
    sent = ReviewComment("docs/import.md", 3, 3, quoted, "Say what happens to a file with a BOM.")
    return ChangesScreen(
        "Review of the working tree",
        files,
        labels=REVERT,
        state=ReviewState((comment,)),
        sent=(SentComment(sent, "Added a line on byte order marks."),),
    )


def merge() -> ChangesScreen:
    files = (
        reviewed_file("src/imports/reader.py", READER, FIXED_READER),
        reviewed_file("tests/test_reader.py", None, READER_TEST),
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
            (1, "ollama/qwen3-coder", "翻訳", 64_000, None),
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
    name_of = {"anthropic": "Anthropic"}.__getitem__
    page = partial(spending_text, caps, {"anthropic": (24.0, limits)}, 36.0, name_of=name_of)
    return PageScreen("Spending", page)


def memory() -> PageScreen:
    agent = MemoryOrigin("agent", 1_780_000_000.0, "ses_1", edited=True)
    lines = (
        MemoryLine("# Instructions for coding agents"),
        MemoryLine("- Use pnpm, never npm"),
        MemoryLine("- Run the tests with `make test`", agent, "Fix empty CSV import"),
        MemoryLine("- No tabs", MemoryOrigin("user", 1_780_086_400.0)),
        MemoryLine("- The API is at api/", MemoryOrigin("agent", 1_779_000_000.0, "ses_gone")),
    )
    page = partial(memory_text, "~/shop/AGENTS.md", lines)
    return PageScreen("Project memory", page)


SCREENS: dict[str, Callable[[], Screen[object]]] = {
    "agents": agents,
    "pager": pager,
    "memory": memory,
    "spending": spending,
    "themes": themes_list,
    "prompts": lambda: PromptsScreen(
        (
            "Why does the import of an empty CSV crash?\nFix it and add a test.",
            "取り込みの説明を日本語に訳して",
            "Run the tests of the exporter",
        )
    ),
    "prompts-empty": lambda: PromptsScreen(()),
    "mcp-empty": lambda: McpScreen((), lambda *_: None),
    "code-login": code_login,
    "mcp-login": lambda: LoginScreen(
        "github",
        "https://github.com/login/oauth/authorize?client_id=Iv1.8a61f9b3a7aba766",
        opened=False,
        copy=str,
    ),
    "lsp": servers,
    "lsp-empty": lambda: LspScreen(lsp_text((), (), ()), lambda: None),
    "waiting": waiting,
    "shells": shells,
    "status": status,
    "fallback": fallback,
    "request": request_of_a_step,
    "subagents": subagents,
    "todo": todo,
    "changes": changes,
    "merge": merge,
    "merge-ways": lambda: Picker("Merge opencode/empty-csv", MERGE_ROWS),
    "modes": modes,
    "own-server": lambda: OwnServerScreen(never_checked),
    "stats": stats,
    "aside": lambda: QuickQuestionScreen("Where is the header read?", spoken(), lambda _: None),
    "rename": lambda: TextScreen("Rename the session", "Fix empty CSV import", enter="rename"),
    "delete": lambda: ConfirmScreen(
        "Delete “Fix empty CSV import”?",
        "It will be deleted permanently.",
        yes="delete",
        destructive=True,
    ),
    "error": lambda: ErrorScreen(
        "KeyError: 'usage'", "~/.local/state/opencode-py/log/opencode-py.log"
    ),
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
