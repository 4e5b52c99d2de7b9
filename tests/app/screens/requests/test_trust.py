"""The trust dialog: after the first frame, before anything of the folder is used."""

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.permission.trust.project_files import ProjectFindings, ProjectProgram
from agent.permission.trust.trust import TrustQuestion
from agent.records.messages import UserMessage
from app.plain.console import StdinLines, ask_trust
from app.plain.printer import Printer
from app.screens.requests.trust import TrustScreen
from tests.app.conftest import Running, Starter
from tests.app.screens.requests.examples import EXAMPLE
from tests.support.snapshots import assert_pictures

LAUNCHER = Path(__file__).resolve().parents[4] / "opencode_py.py"
QUESTION = "Do you trust this folder?"


@pytest.fixture
def project(work: Path) -> Path:
    """A folder that would start a server and steer the agent."""
    settings = {
        "mcp": {"docs": {"type": "local", "command": ["npx", "-y", "docs mcp"]}},
        "theme": "nord",
        "permission": {"bash": {"npm *": "allow"}},
    }
    (work / "opencode.json").write_text(json.dumps(settings))
    (work / "AGENTS.md").write_text("Use tabs.")
    return work


async def until_asked(running: Running) -> None:
    await running.until_shown(QUESTION)


async def test_the_question_comes_before_anything_is_used(start: Starter, project: Path) -> None:
    async with start(ready=False, prompt="list") as running:
        await until_asked(running)
        for shown in ("npx -y 'docs mcp'", "bash npm *", "AGENTS.md", "opencode.json: theme"):
            assert shown in running.text()
        assert not running.app.controller.live.is_ready
        assert running.app.theme != "nord"
        await running.pilot.press("y")
        await running.until_idle()
        assert running.app.theme == "nord"
        assert running.runtime.trust.trusted
        assert running.runtime.permissions.trusted
        assert "not trusted" not in running.text()
        view = running.app.controller.live.view
        assert view is not None
        first = view.entry(view.message_ids[0])
        assert first is not None
        assert isinstance(first.message, UserMessage)


async def test_a_refusal_ignores_everything_and_is_remembered(
    start: Starter, project: Path
) -> None:
    async with start(ready=False) as running:
        await until_asked(running)
        await running.pilot.press("n")
        await running.until_shown("not trusted")
        assert running.app.theme != "nord"
        assert any("/trust" in notice for notice in running.runtime.notices)
        rules = running.runtime.agents.rules("build")
        assert not any(rule.pattern == "npm *" for rule in rules)
    async with start() as running:
        await running.until_shown("not trusted")


@pytest.mark.parametrize("key", ["escape", "enter", "ctrl+c"])
async def test_the_default_is_no_and_asks_next_time(
    start: Starter, project: Path, key: str
) -> None:
    for _ in range(2):
        async with start(ready=False) as running:
            await until_asked(running)
            await running.pilot.press("a", "space", "Y", key)
            await running.until_ready()
            assert not running.runtime.trust.trusted


async def test_keys_typed_for_the_prompt_do_not_answer(start: Starter, project: Path) -> None:
    async with start(ready=False, grace=3600.0) as running:
        await until_asked(running)
        await running.pilot.press("y", "n", "enter")
        await running.pilot.pause()
        assert isinstance(running.app.screen, TrustScreen)


async def test_trust_is_reviewed_given_and_revoked_without_a_restart(
    start: Starter, project: Path
) -> None:
    async with start(ready=False) as running:
        await until_asked(running)
        await running.pilot.press("n")
        await running.until_ready()
        await running.type("list", "enter")
        await running.until_idle()
        session = running.app.controller.live.session
        await running.type("/trust", "enter")
        await running.until_shown("This folder is not trusted")
        assert "npx -y 'docs mcp'" in running.text()
        before = running.runtime
        await running.pilot.press("y")
        await running.until(lambda: running.app.theme == "nord")
        assert running.runtime is not before
        assert running.runtime.trust.trusted
        kept = running.app.controller.live.session
        assert (kept and kept.id) == (session and session.id)
        await running.type("list .", "enter")
        await running.until_idle()
        await running.type("/trust", "enter")
        await running.until_shown("This folder is trusted")
        await running.pilot.press("r")
        await running.until_shown("not trusted")
        assert not running.runtime.trust.trusted
        assert not running.runtime.permissions.trusted


async def test_changes_since_the_last_answer_are_named(start: Starter, project: Path) -> None:
    async with start(ready=False) as running:
        await until_asked(running)
        await running.pilot.press("y")
        await running.until_ready()
    (project / "opencode.json").write_text('{"mcp": {"docs": {"command": ["evil"]}}}')
    async with start(ready=False) as running:
        await until_asked(running)
        assert "Changed since you last answered: opencode.json" in running.text()
        await running.pilot.press("escape")
        await running.until_ready()


async def test_a_folder_without_anything_opens_at_once(start: Starter) -> None:
    async with start() as running:
        assert running.runtime.trust.status == "nothing"
        await running.type("/trust", "enter")
        await running.until_shown("There is nothing here to trust")


async def test_an_invalid_model_in_project_settings_does_not_prevent_the_start(
    start: Starter, work: Path
) -> None:
    (work / "opencode.json").write_text('{"model": "nowhere/x", "default_agent": "nobody"}')
    async with start(ready=False) as running:
        await until_asked(running)
        await running.pilot.press("y")
        await running.until_ready()
        notices = "\n".join(running.runtime.notices)
        assert "opencode.json: model is ignored: There is no provider nowhere." in notices
        assert "default_agent is ignored" in notices
        assert running.app.controller.live.agent == "build"


def hostile() -> TrustQuestion:
    runs = ProjectProgram(
        kind="MCP server",
        name="[/x]\x1b]52;c;aGk=\x07",
        source="opencode.json",
        argv=("rm -rf /\rls", "[bold]\u202ex"),
    )
    return TrustQuestion(folder="~/shop\x1b[2J", found=ProjectFindings((runs,)), changed=("a\nb",))


async def test_shown_text_cannot_hide_or_control_anything(start: Starter) -> None:
    async with start() as running:
        running.app.push_screen(TrustScreen(hostile(), grace=0))
        await until_asked(running)
        text = running.text()
        assert "rm -rf /␍ls" in text
        assert "[bold]" in text
        assert "[/x]" in text
        assert "a b" in text
        for character in ("\x1b", "\x07", "\u202e"):
            assert character not in text


async def test_the_trust_dialog(start: Starter, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    async with start(
        size=(80, 24), directory=tmp_path / "shop", env={"HOME": str(tmp_path)}
    ) as running:
        await running.until_shown("demo/offline")
        running.app.push_screen(TrustScreen(EXAMPLE, grace=0))
        await until_asked(running)
        await running.until_shown("y trust")
        await assert_pictures(running.pilot, "screen-trust")


@pytest.mark.parametrize("size", [(40, 10), (44, 20), (200, 60)])
async def test_the_answers_are_always_on_the_screen(start: Starter, size: tuple[int, int]) -> None:
    async with start(size=size) as running:
        running.app.push_screen(TrustScreen(EXAMPLE, grace=0))
        await running.until_shown("y trust")
        for _ in range(40):
            await running.pilot.press("down")
        await running.until_shown("AGENTS.md")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("yes", "trust"),
        ("Y ", "trust"),
        ("n", "refuse"),
        ("", "later"),
        ("yes please\nn", "refuse"),
    ],
)
async def test_plain_asks_on_lines(typed: str, answer: str) -> None:
    out = io.StringIO()
    lines = StdinLines(interactive=False)
    for line in typed.split("\n"):
        lines.put(line)
    assert await ask_trust(EXAMPLE, Printer(out), lines) == answer
    assert "npx -y @acme/docs-mcp@1.4.0 --root ." in out.getvalue()
    assert "~/shop" in out.getvalue()


def test_a_pipe_trusts_nothing(folders: Mapping[str, str], project: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(LAUNCHER), "--plain", str(project)],
        input="yes\n/exit\n",
        env=dict(folders),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "this folder is not trusted" in done.stdout
    assert not (Path(folders["OPENCODE_PY_DATA"]) / "trust.json").exists()
