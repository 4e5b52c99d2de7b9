"""``/status``, ``/todo``, and the double Esc that opens the review."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.records.blocks import TodoItem
from app.action_registry.registry import find_by_slash
from app.actions.program import effort_in_use, notice_facts, todo_text
from app.session_state.notices import NoticeLog
from tests.app.conftest import Starter
from tests.support.harness import MODEL, open_harness
from tests.support.model_server import ModelServer
from tests.support.script import Call, Failure, Text, answer

FAMILIAR_NAMES = [
    "new",
    "sessions",
    "resume",
    "fork",
    "rename",
    "compact",
    "undo",
    "redo",
    "history",
    "model",
    "agent",
    "effort",
    "theme",
    "init",
    "context",
    "cost",
    "stats",
    "export",
    "copy",
    "editor",
    "details",
    "thinking",
    "todo",
    "mcp",
    "lsp",
    "permissions",
    "trust",
    "connect",
    "help",
    "exit",
    "models",
    "agents",
    "themes",
    "mcps",
    "variants",
    "timeline",
    "clear",
    "quit",
    "q",
    "continue",
    "summarize",
    "status",
]


def test_each_error_of_a_file_has_a_line_of_its_own() -> None:
    log = NoticeLog()
    log.add("a.json:2: share is ignored.\n  line 4: watcher is ignored.", "warning")
    facts = notice_facts(log)
    assert [(fact.name, fact.text) for fact in facts] == [
        ("Notices", "a.json:2: share is ignored."),
        ("", "  line 4: watcher is ignored."),
    ]


@pytest.mark.parametrize("name", FAMILIAR_NAMES)
def test_every_familiar_slash_command_exists(name: str) -> None:
    assert find_by_slash(name) is not None


async def test_status_shows_the_session_the_model_and_the_folder(start: Starter) -> None:
    async with start() as running:
        await running.type("/status", "enter")
        await running.until_shown("none yet")
        await running.pilot.press("escape")
        await running.type("list", "enter")
        await running.until_idle()
        await running.type("/status", "enter")
        await running.until_shown("demo/offline")
        session = running.app.controller.live.session
        assert session is not None
        await running.until_shown(session.id)


@pytest.mark.parametrize(
    ("configured", "requested", "used", "note"),
    [
        ("ultra", None, None, "There is no effort ultra"),
        ("xhigh", None, "high", "Effort high is used instead of xhigh"),
        ("high", None, "high", ""),
        (None, None, None, ""),
        (None, "ultra", None, "There is no effort ultra"),
        ("low", "max", "high", "Effort high is used instead of max"),
        ("ultra", "low", "low", ""),
    ],
)
async def test_status_notes_an_effort_that_is_not_used(
    tmp_path: Path, configured: str | None, requested: str | None, used: str | None, note: str
) -> None:
    abilities: dict[str, object] = {"reasoning": True}
    own = {} if configured is None else {"effort": configured}
    async with open_harness(tmp_path, abilities=abilities, **own) as harness:
        effort, said = effort_in_use(harness.runtime, MODEL, requested)
        assert effort == used
        assert said.startswith(note)
        assert bool(said) == bool(note)


async def test_status_notes_an_effort_that_the_server_refused(tmp_path: Path) -> None:
    abilities: dict[str, object] = {"reasoning": True}
    async with open_harness(tmp_path, abilities=abilities, effort="high") as harness:
        words = '{"error": {"message": "this model does not support reasoning"}}'
        harness.server.script(Failure(400, words), answer(Text("ok")))
        assert (await harness.turn(await harness.session(), "go")).outcome == "completed"
        effort, note = effort_in_use(harness.runtime, MODEL, None)
        assert effort is None
        assert "refused effort high" in note


async def test_status_shows_the_sandboxes_of_servers_and_hooks(
    start: Starter, folders: Mapping[str, str]
) -> None:
    settings = {
        "mcp": {"tickets": {"command": ["no-such-program"], "sandbox": "read-only"}},
        "hooks": {"Stop": [{"hooks": [{"command": "true", "sandbox": "workspace-write"}]}]},
    }
    config = Path(folders["XDG_CONFIG_HOME"]) / "opencode-py"
    config.mkdir(exist_ok=True)
    (config / "config.json").write_text(json.dumps(settings))
    async with start() as running:
        await running.type("/status", "enter")
        await running.until_shown("read-only: MCP server tickets")
        await running.until_shown("workspace-write: 1 hook")


async def test_todo_shows_the_agents_list(start: Starter, scripted: ModelServer) -> None:
    todos = [{"content": "find it", "status": "in_progress"}, {"content": "mend it"}]
    scripted.script(answer(Call("todowrite", {"todos": todos})), answer(Text("done")))
    async with start() as running:
        await running.type("/todo", "enter")
        await running.until_shown("has no to-do list")
        await running.type("plan", "enter")
        await running.until_idle()
        await running.type("/todo", "enter")
        await running.until(lambda: not running.app.controller.on_main_screen())
        await running.until_shown("▸ find it")


def test_every_state_of_a_task_has_a_mark() -> None:
    items = [TodoItem("a", s) for s in ("pending", "in_progress", "completed", "cancelled")]
    assert todo_text(items).plain == "☐ a\n▸ a\n☑ a\n⊘ a"


async def test_esc_twice_on_an_empty_prompt_opens_the_review(start: Starter) -> None:
    async with start() as running:
        await running.type("list", "enter")
        await running.until_idle()
        await running.type("x")
        await running.pilot.press("escape", "escape")
        assert running.app.controller.on_main_screen(), "the prompt is not empty"
        await running.pilot.press("backspace", "escape", "escape")
        await running.until(lambda: not running.app.controller.on_main_screen())
        await running.until_shown("list")
