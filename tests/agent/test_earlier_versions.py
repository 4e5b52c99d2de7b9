"""Files of earlier versions are read: a database, an export, a config file, hook definitions.

The files in ``tests/data/earlier_version`` were written by a version in which records, events and
settings had other names. They are never changed.
"""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.bus import Bus
from agent.config.loading import LoadedConfig, load_config
from agent.config.validation import file_values
from agent.hooks.loading import find_hooks
from agent.records.background import BackgroundTask
from agent.records.blocks import TodoItem
from agent.records.context_parts import ReportPart
from agent.records.decisions import Decision
from agent.records.messages import SideUsage, ToolPart, Usage
from agent.store import search
from agent.store.database import migrate, packaged_migrations
from agent.store.store import Store
from agent.transfer.bundle import from_json, to_json
from agent.transfer.importer import import_file

FILES = Path(__file__).parents[1] / "data" / "earlier_version"

DECISIONS = (
    Decision(answer="allow", by="rule", at=5.0, reason="allowed by bash `ls` (global)"),
    Decision(answer="reject", by="person", at=6.0, question="Run it?", comment="not this one"),
)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of schema version 4 with the rows that the earlier version wrote."""
    path = tmp_path / "data" / "sessions.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, path, packaged_migrations()[:4])
        connection.executescript((FILES / "sessions.sql").read_text("utf-8"))
    return path


async def test_every_record_of_an_earlier_database_is_read(database: Path) -> None:
    store = await Store.open(database, Bus())
    parent = next(one for one in await store.sessions() if one.parent_id is None)
    assert (parent.title, parent.model, parent.pinned) == ("Fix the parser", "demo/offline", True)
    assert (parent.subagent_usage, parent.subagent_cost) == (Usage(50, 5), 0.25)
    assert parent.side_usage == (SideUsage(model="demo/small", usage=Usage(40, 4), cost=0.125),)
    tasks = {child.title: child.background_task for child in await store.children(parent.id)}
    step_id = "msg_00000000000000000000000003"
    assert tasks == {
        "look around": BackgroundTask(message_id=step_id, call_id="cal_1", started=20.0),
        "count": BackgroundTask(
            message_id=step_id,
            call_id="cal_2",
            started=20.0,
            state="completed",
            ended=30.0,
            facts=("2 tool calls", "4s"),
        ),
    }
    messages = await store.messages(parent.id)
    with closing(sqlite3.connect(database)) as connection:
        (stored,) = connection.execute("SELECT count(*) FROM part").fetchone()
    assert sum(len(item.parts) for item in messages) == stored
    parts = [part for item in messages for part in item.parts]
    assert [part.decisions for part in parts if isinstance(part, ToolPart) and part.decisions] == [
        DECISIONS
    ]
    assert [part.outcome for part in parts if isinstance(part, ReportPart)] == ["failed"]
    assert await store.todos(parent.id) == (TodoItem("do it", "in_progress", "high"),)
    assert await store.session_rules(parent.id) == (("bash", "ls *"),)
    assert await store.prompt_history() == ["an old prompt"]
    assert [hit.message_id for hit in await store.read(search.find_hits, "old question", 50)] == [
        messages[0].message.id
    ]
    await store.close()


async def test_records_are_written_as_the_earlier_version_reads_them(database: Path) -> None:
    """Two versions of the program can use one database, one after the other or at once."""
    before = stored_records(database)
    store = await Store.open(database, Bus())
    for session in await store.sessions(include_children=True):
        messages = await store.messages(session.id)
        await store.save(
            session,
            *(item.message for item in messages),
            *(part for item in messages for part in item.parts),
        )
    await store.close()
    assert stored_records(database) == before


def stored_records(path: Path) -> list[tuple[str, str]]:
    """Return id and JSON of every session, message and part."""
    with closing(sqlite3.connect(path)) as connection:
        return [
            (name, json.dumps(without_new_fields(json.loads(data))))
            for table in ("session", "message", "part")
            for name, data in connection.execute(f"SELECT id, data FROM {table} ORDER BY id")
        ]


NEW_FIELDS = {"reminders", "sandbox", "network", "directory"}
"""Fields that earlier versions ignore; they are left out of the comparison while they are empty."""


def without_new_fields(value: Any) -> Any:
    """Return JSON *value* without the new fields that have nothing in them."""
    if isinstance(value, list):
        return [without_new_fields(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: without_new_fields(item)
        for name, item in value.items()
        if item or name not in NEW_FIELDS
    }


async def test_a_background_task_that_was_left_running_is_found_and_ended(database: Path) -> None:
    store = await Store.open(database, Bus())
    await store.recover()
    children = [one for one in await store.sessions(include_children=True) if one.parent_id]
    states = {one.title: one.background_task.state for one in children if one.background_task}
    assert states == {"look around": "interrupted", "count": "completed"}
    parent_id = children[0].parent_id
    assert parent_id is not None
    queued = [item for item in await store.messages(parent_id) if item.message.turn_id is None]
    reports = [part for item in queued for part in item.parts if isinstance(part, ReportPart)]
    assert [(report.description, report.outcome) for report in reports] == [
        ("look around", "interrupted")
    ]
    await store.close()


async def test_an_earlier_export_is_imported_and_exported_alike(tmp_path: Path) -> None:
    store = await Store.open(tmp_path / "sessions.db", Bus())
    given = json.loads((FILES / "export.json").read_text("utf-8"))
    session = await import_file(
        store, FILES / "export.json", directory="/desk/b", project="/desk/b"
    )
    assert (session.title, session.subagent_cost) == ("Fix the parser", 0.25)
    assert len((await store.messages(session.id))[1].parts) == 17
    await store.close()
    assert without_new_fields(to_json(from_json(given))) == given


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    """The environment of a user who has the earlier config file and a file of Claude Code."""
    home = tmp_path / "home"
    for name, place in (
        ("config.json", ".config/opencode-py/config.json"),
        ("claude-settings.json", ".claude/settings.json"),
    ):
        path = home / place
        path.parent.mkdir(parents=True)
        path.write_text((FILES / name).read_text("utf-8"))
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "OPENCODE_PY_DATA": str(home / "data"),
    }


def loaded(folder: Path, env: dict[str, str]) -> LoadedConfig:
    (folder / "project").mkdir()
    return load_config(folder / "project", folder / "project", env)


def test_every_setting_of_an_earlier_config_file_counts(
    tmp_path: Path, env: dict[str, str]
) -> None:
    found = loaded(tmp_path, env)
    assert found.notices == ()
    assert file_values(found.config) == json.loads((FILES / "config.expected.json").read_text())


def test_earlier_hook_definitions_are_found(tmp_path: Path, env: dict[str, str]) -> None:
    found = find_hooks(
        loaded(tmp_path, env), tmp_path / "project", tmp_path / "project", env, trusted=False
    )
    assert found.notes == ()
    assert [(hook.event, hook.matcher, hook.command, hook.timeout) for hook in found.hooks] == [
        ("PreToolUse", "bash|edit", "check-call", 5.0),
        ("PostToolUse", "", "format-file", 60.0),
        ("UserPromptSubmit", "", "check-prompt", 60.0),
        ("SessionStart", "", "greet", 60.0),
        ("PreCompact", "", "before-compact", 60.0),
        ("PreRequest", "", "before-request", 60.0),
        ("Stop", "", "at-end", 60.0),
        ("SubagentStop", "", "at-child-end", 60.0),
        ("PermissionRequest", "", "decide", 60.0),
        ("PostToolUseFailure", "", "note-failure", 60.0),
        ("Notification", "", "notify", 60.0),
        ("SessionEnd", "", "bye", 60.0),
        ("PreToolUse", "Bash", "claude-check", 600.0),
    ]
