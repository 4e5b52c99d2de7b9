"""The documentation: found in every kind of installation, named to the model, free to read."""

import subprocess
import sys
import tomllib
from pathlib import Path

from agent.installation import documentation_folder
from agent.records.events import PermissionAsked
from agent.records.messages import Completed
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer

ROOT = Path(__file__).parents[2]


def test_the_folder_of_a_checkout_is_found() -> None:
    assert documentation_folder() == str(ROOT / "docs")


def test_they_are_in_a_wheel_and_an_sdist() -> None:
    targets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"][
        "targets"
    ]
    assert targets["wheel"]["force-include"]["docs"] == "agent/docs"
    assert "docs" in targets["sdist"]["include"]


def test_the_folder_of_a_wheel_is_found(tmp_path: Path) -> None:
    """Its package has the pages inside, wherever it is installed."""
    package = tmp_path / "agent"
    (package / "docs" / "reference").mkdir(parents=True)
    (package / "docs" / "reference" / "keys-and-commands.md").write_text("# Keys\n")
    (package / "__init__.py").touch()
    (package / "installation.py").write_text((ROOT / "agent" / "installation.py").read_text())
    program = "from agent.installation import documentation_folder as f; print(f())"
    run = [sys.executable, "-c", program]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str((package / "docs").resolve())


async def test_a_question_about_the_program_is_answered_from_them(tmp_path: Path) -> None:
    """The model is told where they are in one line; nothing that reads there asks."""
    folder = documentation_folder()
    assert folder is not None
    calls = (
        Call("read", {"file_path": f"{folder}/README.md"}),
        Call("read", {"file_path": f"{folder}/extending.md"}),
        Call("glob", {"pattern": "*.md", "path": folder}),
        Call("grep", {"pattern": "PostToolUse", "path": folder}),
        Call("bash", {"command": f"grep -rn PostToolUse {folder}"}),
    )
    async with open_harness(tmp_path) as harness:
        session = await harness.session()
        harness.server.script(answer(*calls), answer(Text("Like this.")))
        await harness.turn(session, "How do I add a hook here?")
        first = str(harness.server.requests[0].body["messages"]).replace("\\n", "\n")
        (line,) = (line for line in first.splitlines() if folder in line)
        assert "README.md" in line
        assert len(line) < 300
        assert not any(isinstance(event, PermissionAsked) for event in harness.events)
        states = [part.state for part in await harness.tools(session)]
        assert all(isinstance(state, Completed) for state in states), states
        assert "PostToolUse" in str(states[1:])


async def test_they_are_not_free_to_change(tmp_path: Path) -> None:
    folder = documentation_folder()
    async with open_harness(tmp_path) as harness:
        session = await harness.session()
        harness.server.script(
            answer(Call("write", {"file_path": f"{folder}/x.md", "content": "x"}))
        )
        before = len(harness.events)
        await harness.send(session, "go")
        request = await harness.permission_request(after=before)
        harness.answer(request, "reject")
        await harness.idle(session, after=before)
        assert {e.need.permission for e in request.needs} == {"edit", "external_directory"}
