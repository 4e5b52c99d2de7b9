"""The registry, and the actions on a real runtime."""

import pytest

from app.action_registry.keymap import build
from app.action_registry.registry import GROUPS, ORDER, action, find_by_slash, parse_command
from app.actions import actions
from app.screens.help import help_text
from app.screens.main.layout import slash_entries
from app.widgets.completion_list import SlashEntry, matching_commands
from tests.app.conftest import Starter


@pytest.mark.parametrize(
    ("typed", "action_id"),
    [
        ("/new", "session.new"),
        ("/clear", "session.new"),
        ("/resume", "session.list"),
        ("/continue", "session.list"),
        ("/models", "model.list"),
        ("/agents", "agent.list"),
        ("/themes", "view.theme"),
        ("/variants", "model.effort"),
        ("/q", "app.exit"),
        ("exit", "app.exit"),
        (":q", "app.exit"),
        ("/Quit", "app.exit"),
    ],
)
def test_familiar_names_run_their_action(typed: str, action_id: str) -> None:
    command = parse_command(typed)
    assert command is not None
    assert command.action is not None
    assert command.action.id == action_id


def test_an_argument_follows_the_name() -> None:
    command = parse_command("/rename  A new [title] ")
    assert command is not None
    assert command.argument == "A new [title]"


@pytest.mark.parametrize(
    "text", ["fix it", "/usr/bin is full", "/", "please exit", "/new\nand more", "", "//"]
)
def test_other_prompts_are_for_the_model(text: str) -> None:
    assert parse_command(text) is None


def test_an_unknown_command_is_known_to_be_one() -> None:
    command = parse_command("/nosuch")
    assert command is not None
    assert command.action is None


def test_every_action_is_in_the_help_with_its_keys_and_names() -> None:
    text = help_text(actions(), build(actions()).keys_of, 95).plain
    for known in actions():
        assert known.title in text
        assert known.group in GROUPS
        for name in known.slash:
            assert f"/{name}" in text
    assert "ctrl+x n" in text


@pytest.mark.parametrize("width", [30, 66, 95])
def test_the_help_fits_and_wrapped_lines_keep_their_column(width: int) -> None:
    rows = help_text(actions(), build(actions()).keys_of, width).split("\n")
    assert all(row.cell_length <= width for row in rows)
    if width == 66:
        plain = [row.plain for row in rows]
        at = next(n for n, row in enumerate(plain) if row.startswith("enter "))
        assert plain[at].index("Send") == len(plain[at + 1]) - len(plain[at + 1].lstrip())


def test_the_most_used_actions_are_on_top() -> None:
    listed = [known.id for known in actions()]
    assert listed[:3] == ["session.new", "session.list", "session.undo"]
    assert set(ORDER) <= set(listed)


def test_each_built_in_action_has_its_position() -> None:
    built_in = [known.id for known in actions() if known.group != "Commands"]
    assert built_in == list(ORDER)


def test_enter_runs_a_complete_name() -> None:
    listed = slash_entries(actions())
    for entry in listed:
        for name in (entry.name, *entry.aliases):
            assert matching_commands(listed, name)[0] is entry


def test_each_name_belongs_to_one_action() -> None:
    async def run(context: object, argument: str) -> None:
        del context, argument

    with pytest.raises(ValueError, match=r"session\.other"):
        action("session.other", "Other", "Session", slash=("new",))(run)
    assert find_by_slash("new") is not None


def test_the_list_ranks_names_before_aliases_before_titles() -> None:
    entries = [
        SlashEntry("exit", ("quit",), "Leave"),
        SlashEntry("sessions", ("resume",), "Sessions"),
        SlashEntry("rename", (), "Rename the session"),
    ]
    assert [entry.name for entry in matching_commands(entries, "re")] == ["rename", "sessions"]
    assert [entry.name for entry in matching_commands(entries, "sess")] == ["sessions", "rename"]
    assert matching_commands(entries, "zzz") == []


async def test_the_first_page_explains_the_program_and_first_steps(start: Starter) -> None:
    async with start() as running:
        await running.until_shown("demo/offline")
        text = running.text()
        assert "a coding agent for this folder" in text
        assert "read README.md" in text
        assert "no model is connected" in text


async def test_a_prompt_is_sent_answered_and_listed(start: Starter) -> None:
    async with start() as running:
        await running.type("read README.md", "enter")
        await running.until_idle()
        await running.until_shown("README.md")
        assert running.prompt == ""
        session = running.app.controller.live.session
        assert session is not None
        assert session.turns == 1
        assert running.app.resume_command() == f"opencode-py -s {session.id}"


async def test_a_slash_opens_the_list_and_tab_completes(start: Starter) -> None:
    async with start() as running:
        await running.type("/th")
        await running.until_shown("Show or fold the reasoning")
        await running.pilot.press("tab")
        assert running.prompt == "/thinking "
        await running.pilot.press("ctrl+u")
        await running.type("/th", "escape")
        assert not running.app.controller.main.is_completing
        assert running.prompt == "/th"


async def test_enter_in_the_list_runs_the_action(start: Starter) -> None:
    async with start() as running:
        await running.type("/hel", "enter")
        await running.until_shown("Prompt keys")
        await running.pilot.press("ctrl+c")
        await running.until(running.app.controller.on_main_screen)


async def test_tab_goes_to_the_next_agent(start: Starter) -> None:
    async with start() as running:
        await running.pilot.press("tab")
        await running.until(lambda: running.app.controller.live.agent == "plan")
        await running.until_shown("plan")
        await running.pilot.press("tab")
        await running.until(lambda: running.app.controller.live.agent == "build")


async def test_an_unknown_command_stays_in_the_prompt(start: Starter) -> None:
    async with start() as running:
        await running.type("/nosuch", "enter")
        await running.until_shown("There is no command /nosuch")
        assert running.prompt == "/nosuch"


async def test_ctrl_c_clears_the_prompt_and_stores_it(start: Starter) -> None:
    """The text stays in the history; pressed twice on an empty prompt, ctrl+c exits."""
    async with start() as running:
        await running.type("half a thought", "ctrl+c")
        assert running.prompt == ""
        await running.pilot.press("up")
        assert running.prompt == "half a thought"
        await running.pilot.press("ctrl+c", "ctrl+c")
        await running.until_shown("again to exit")
        assert running.app.is_running
        await running.pilot.press("ctrl+c")
        await running.until(lambda: running.app.return_value == 0)


async def test_the_permission_dialog_asks_and_the_answer_reaches_the_tool(start: Starter) -> None:
    async with start() as running:
        await running.type("run touch made.txt", "enter")
        await running.until_shown("touch made.txt")
        await running.until(lambda: not running.app.controller.on_main_screen())
        await running.pilot.press("o")
        await running.until_idle()
        assert (running.runtime.directory / "made.txt").exists()


async def test_ctrl_c_in_the_dialog_cancels_the_turn(start: Starter) -> None:
    async with start() as running:
        await running.type("run touch made.txt", "enter")
        await running.until(lambda: not running.app.controller.on_main_screen())
        await running.pilot.press("ctrl+c")
        await running.until_idle()
        assert running.app.controller.on_main_screen()
        assert not (running.runtime.directory / "made.txt").exists()


async def test_text_typed_before_the_runtime_opens_is_sent(start: Starter) -> None:
    async with start(prompt="read README.md") as running:
        await running.until_idle()
        session = running.app.controller.live.session
        assert session is not None
        assert session.turns == 1


async def test_a_narrow_terminal_keeps_the_prompt(start: Starter) -> None:
    """At 20 columns, and while resizing down to them."""
    async with start(size=(80, 24)) as running:
        await running.until_shown("demo/offline")
        await running.pilot.resize_terminal(20, 8)
        await running.type("ok")
        await running.until_shown("ok")
