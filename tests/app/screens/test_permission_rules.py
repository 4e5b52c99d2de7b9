"""``/permissions``: listing, revoking and saving rules."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.permission.rules import ALWAYS, DEFAULT_RULES, SAVED, Rule
from app.screens.permission_rules import PermissionsScreen, rule_rows
from tests.app.conftest import Running, Starter
from tests.support.hosting import Host
from tests.support.snapshots import assert_pictures

ALLOWED = (("bash", "git push *"), ("bash", "npm run build *"))


async def with_always(running: Running) -> str:
    """Open a session in which the user said "always" twice; return its id."""
    session = await running.runtime.sessions.repository.create(title="A shop")
    for permission, pattern in ALLOWED:
        await running.runtime.store.add_session_rule(session.id, permission, pattern)
    await running.app.controller.live.open(session.id)
    return session.id


async def opened(running: Running) -> PermissionsScreen:
    await running.type("/permissions", "enter")
    await running.until_shown("Permissions of")
    screen = running.app.screen
    assert isinstance(screen, PermissionsScreen)
    return screen


def settings(folders: Mapping[str, str]) -> Path:
    return Path(folders["XDG_CONFIG_HOME"]) / "opencode-py" / "config.json"


def test_rows_show_the_source_with_the_strongest_rule_first() -> None:
    rules = (
        *DEFAULT_RULES,
        Rule("bash", "rm *", "deny", "~/.config/opencode-py/config.json"),
        Rule("bash", "npm *", "allow", "project opencode.json"),
        Rule("edit", "*", "deny", "agent plan"),
        Rule("bash", "ls *", "allow", SAVED),
        Rule("bash", "git *", "allow", ALWAYS),
    )
    rows = rule_rows(rules, trusted=False)
    assert [row.group for row in rows[:5]] == [
        "Always, in this session and its sub-agents",
        "Saved in your settings for every folder",
        "From the agent plan",
        "From the project: opencode.json",
        "From ~/.config/opencode-py/config.json",
    ]
    assert {row.group for row in rows[5:]} == {"Built in"}
    assert len(rows) == len(rules)
    assert rows[3].note == "can only restrict"
    saved = Rule("bash", "git *", "allow", "~/.config/opencode-py/config.json", saved=True)
    assert rule_rows((saved,), trusted=True)[0].note == "with the limits of “always”"
    assert "does not override deny rules" in rule_rows(rules, trusted=True)[3].note
    assert rules[int(rows[0].key)].pattern == "git *"


async def test_an_always_rule_is_revoked(start: Starter) -> None:
    async with start() as running:
        root = await with_always(running)
        screen = await opened(running)
        top = screen.highlighted_row()
        assert top is not None
        assert "npm run build *" in top.title
        await running.pilot.press("ctrl+d")
        await running.until_shown("npm run build * will ask again")
        await running.until(lambda: "npm run build" not in str(screen.rows))
        assert await running.runtime.store.session_rules(root) == ALLOWED[:1]
        await running.type("webfetch")
        await running.pilot.press("ctrl+d")
        await running.until_shown("Only rules that you chose with")
        await running.pilot.press("enter")
        await running.until(running.app.controller.on_main_screen)


async def test_an_always_rule_is_saved_to_the_users_settings(
    start: Starter, folders: Mapping[str, str]
) -> None:
    async with start() as running:
        await with_always(running)
        screen = await opened(running)
        await running.type("push")
        await running.pilot.press("ctrl+s")
        await running.until_shown("It applies in every folder")
        await running.until(lambda: any("Saved" in row.group for row in screen.rows))
        saved = json.loads(settings(folders).read_text())
        assert saved["permission"] == {"bash": {"git push *": "allow"}}
    async with start() as running:
        screen = await opened(running)
        await running.type("push")
        row = screen.highlighted_row()
        assert row is not None
        assert row.group.startswith("From ")
        assert "config.json" in row.group


async def test_a_settings_file_that_cannot_be_changed_is_reported(
    start: Starter, folders: Mapping[str, str]
) -> None:
    path = settings(folders)
    path.parent.mkdir(parents=True)
    path.write_text("{ broken")
    async with start() as running:
        await with_always(running)
        await opened(running)
        await running.pilot.press("ctrl+s")
        await running.until_shown("was not changed")
        assert path.read_text() == "{ broken"


def screen_of(rules: Sequence[Rule]) -> PermissionsScreen:
    rows = rule_rows(rules, trusted=False)
    title = "Permissions of build, strongest first"
    return PermissionsScreen(title, rows, revoke=str, save=str)


async def test_the_screen() -> None:
    home = "~/.config/opencode-py/config.json"
    rules = (
        *DEFAULT_RULES,
        Rule("bash", "*", "ask", home),
        Rule("bash", "rm *", "deny", home),
        Rule("webfetch", "docs.python.org", "allow", home),
        Rule("edit", "migrations/*.sql", "ask", "project opencode.json"),
        Rule("bash", "npm run build *", "allow", SAVED),
        Rule("bash", "git push *", "allow", ALWAYS),
    )
    host = Host(screen_of(rules))
    async with host.run_test() as pilot:
        await assert_pictures(pilot, "screen-permissions")
