"""``#``, ``/init`` and ``/instructions``."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.records.messages import TextPart
from tests.app.conftest import Running, Starter
from tests.support.model_server import ModelServer
from tests.support.script import Text, answer
from tests.support.snapshots import assert_both_themes


def asks(running: Running) -> bool:
    return "Add this line to" in running.text()


async def test_a_line_after_a_hash_is_added_once_the_edit_is_approved(
    start: Starter, work: Path
) -> None:
    async with start() as running:
        await running.type("# Use tabs, never [blanks]", "enter")
        await running.until_shown("Add this line to AGENTS.md?")
        assert "+ - Use tabs, never [blanks]" in running.text()
        assert not (work / "AGENTS.md").exists()
        await running.pilot.press("o")
        await running.until_shown("Added to AGENTS.md.")
        text = (work / "AGENTS.md").read_text()
        assert text == "# Instructions for coding agents\n\n- Use tabs, never [blanks]\n"
        assert running.prompt == ""
        assert running.app.controller.live.view is None
        assert running.runtime.trust.trusted
    async with start() as running:
        assert running.runtime.trust.trusted


async def test_a_rejected_line_returns_to_the_prompt(start: Starter, work: Path) -> None:
    async with start() as running:
        await running.type("#Use tabs", "enter")
        await running.until(lambda: asks(running))
        await running.pilot.press("escape")
        await running.until(lambda: running.prompt == "# Use tabs")
        assert not (work / "AGENTS.md").exists()
        assert running.runtime.trust.status == "nothing"


@pytest.mark.parametrize("text", ["#42 is broken", "## A heading", "list #5"])
async def test_other_texts_with_a_hash_are_prompts(start: Starter, text: str) -> None:
    async with start(model="demo/offline") as running:
        running.app.controller.main.prompt.set_text(text)
        await running.pilot.press("enter")
        await running.until(lambda: running.app.controller.live.view is not None)
        view = running.app.controller.live.view
        assert view is not None
        await running.until(lambda: bool(view.message_ids))
        entry = view.entry(view.message_ids[0])
        assert entry is not None
        assert isinstance(entry.parts[0], TextPart)
        assert entry.parts[0].text == text


async def test_a_line_in_an_untrusted_folder_is_reported_as_unused(
    start: Starter, work: Path
) -> None:
    (work / "opencode.json").write_text(json.dumps({"model": "demo/offline"}))
    async with start(ready=False) as running:
        await running.until_shown("Do you trust")
        await running.pilot.press("n")
        await running.until_ready()
        await running.type("# Use tabs", "enter")
        await running.until(lambda: asks(running))
        await running.pilot.press("o")
        await running.until_shown("It is used once")
        assert not running.runtime.trust.trusted


async def test_init_has_the_agent_write_the_file(start: Starter, work: Path) -> None:
    async with start(model="demo/offline") as running:
        await running.type("/init the tests matter", "enter")
        await running.until(lambda: running.app.controller.live.view is not None)
        view = running.app.controller.live.view
        assert view is not None
        await running.until(lambda: bool(view.message_ids))
        entry = view.entry(view.message_ids[0])
        assert entry is not None
        part = entry.parts[0]
        assert isinstance(part, TextPart)
        assert part.text.startswith("Write `AGENTS.md` in the root of this project")
        assert part.text.endswith("The user adds: the tests matter")
        assert "{{" not in part.text


async def test_a_complete_name_is_sent_and_a_prefix_is_completed(
    start: Starter,
) -> None:
    async with start() as running:
        await running.type("/ini")
        await running.until_shown("Create AGENTS.md")
        await running.pilot.press("enter")
        await running.until(lambda: running.prompt == "/init ")
        await running.pilot.press("backspace")
        await running.until_shown("Create AGENTS.md")
        await running.pilot.press("enter")
        await running.until(lambda: running.app.controller.live.view is not None)
        assert running.prompt == ""


@pytest.mark.parametrize("size", [(80, 24), (140, 45)])
async def test_the_files_in_force_are_listed(
    start: Starter, tmp_path: Path, folders: Mapping[str, str], size: tuple[int, int]
) -> None:
    shop = tmp_path / "shop"
    files = {
        shop / "AGENTS.md": "Use tabs. @more.md",
        shop / "more.md": "More.",
        shop / "sub" / "AGENTS.md": "Here, blanks.",
        shop / "sub" / "a.txt": "x",
        shop / ".agents" / "skills" / "release" / "SKILL.md": (
            "---\nname: release\ndescription: Cuts a release: tags and notes.\n---\nx"
        ),
        shop / ".agents" / "skills" / "bad" / "SKILL.md": "---\n- x\n---\n",
        tmp_path / "config" / "opencode-py" / "AGENTS.md": "Be brief.",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    env = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    async with start(directory=shop, env=env, size=size, ready=False) as running:
        await running.until_shown("Do you trust")
        await running.pilot.press("y")
        await running.until_ready()
        await running.until_shown("demo/offline")
        await running.type("/instructions", "enter")
        await running.until_shown("Skills")
        for shown in (
            "~/config/opencode-py/AGENTS.md   yours, 9 characters",
            "release   Cuts a release: tags and notes.",
            "bad/SKILL.md is ignored",
        ):
            assert shown in running.text()
        await assert_both_themes(running.pilot, "screen-instructions")
        await running.pilot.press("escape")
        await running.type("read sub/a.txt", "enter")
        await running.until_idle()
        await running.type("/instructions", "enter")
        await running.until_shown("sub/AGENTS.md   loaded with a file")


async def test_the_list_reports_settings_ignored_in_an_untrusted_folder(
    start: Starter, work: Path
) -> None:
    (work / "AGENTS.md").write_text("Use tabs.")
    async with start(ready=False) as running:
        await running.until_shown("Do you trust")
        await running.pilot.press("n")
        await running.until_ready()
        await running.type("/instructions", "enter")
        await running.until_shown("This folder is not trusted, so its own files are ignored.")
        assert "No instruction files are loaded" in running.text()


async def test_the_memory_is_proposed_edited_and_shown_with_its_origin(
    scripted: ModelServer, start: Starter, work: Path
) -> None:
    scripted.script(
        answer(Text("Done.")),
        answer(
            Text(f"- Use pnpm\n- Tests take long\n- A wrong fact, {'very ' * 12}long to its end")
        ),
    )
    async with start() as running:
        await running.type("Install it", "enter")
        await running.until_shown("Done.")
        await running.until_idle()
        await running.type("/memory propose", "enter")
        await running.until_shown("Remember this? Edit it, or press esc to skip it (1 of 3)")
        await running.pilot.press("enter")
        await running.until_shown("(2 of 3)")
        await running.type(" on Windows", "enter")
        await running.until_shown("(3 of 3)")
        assert "long to its end" in " ".join(running.text().split())
        assert "esc skip" in running.text()
        await running.pilot.press("escape")
        await running.until_shown("Add these lines to AGENTS.md?")
        assert not (work / "AGENTS.md").exists()
        await running.pilot.press("o")
        await running.until_shown("Added to AGENTS.md.")
        text = (work / "AGENTS.md").read_text()
        assert text.endswith("\n- Use pnpm\n- Tests take long on Windows\n")
        await running.type("/memory", "enter")
        await running.until_shown("Project memory")
        shown = running.text()
        assert "proposed by the agent, accepted by you, in “Install it”" in shown
        assert "proposed by the agent, edited and accepted by you" in shown


async def test_rejected_memory_is_not_written(
    scripted: ModelServer, start: Starter, work: Path
) -> None:
    scripted.script(answer(Text("Done.")), answer(Text("- Use pnpm")), answer(Text("none")))
    async with start() as running:
        await running.type("/memory propose", "enter")
        await running.until_shown("No session is open yet")
        await running.type("Install it", "enter")
        await running.until_shown("Done.")
        await running.until_idle()
        await running.type("/memory propose", "enter")
        await running.until_shown("(1 of 1)")
        await running.pilot.press("enter")
        await running.until_shown("Add this line to AGENTS.md?")
        await running.pilot.press("escape")
        await running.until_shown("Nothing was written.")
        assert not (work / "AGENTS.md").exists()
        await running.type("/memory propose", "enter")
        await running.until_shown("found nothing new")
