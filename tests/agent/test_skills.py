"""Skills: discovery, the list for the model, loading on demand."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.config.paths import Paths
from agent.records.events import Notice
from agent.records.messages import Completed, Failed
from agent.skills import MAX_LISTED, Skills, skill_list
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer

GOOD = "---\nname: good\ndescription: Does good.\n---\nGOOD BODY"


def write(base: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def skills(tmp_path: Path, *, trusted: bool = True) -> Skills:
    home = tmp_path / "home"
    env = {"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config")}
    project = home / "shop"
    (project / "sub").mkdir(parents=True, exist_ok=True)
    return Skills(project / "sub", project, Paths.find(env), env, lambda: trusted)


def skill(name: str, description: str = "d") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\nbody of {name}"


PLACES = (
    ".claude/skills",
    ".agents/skills",
    ".opencode/skill",
    ".config/opencode/skills",
    ".config/opencode-py/skills",
    "shop/.claude/skills",
    "shop/.agents/skills",
    "shop/.opencode/skills",
    "shop/.opencode/skill/nested",
    "shop/.opencode-py/skill",
    "shop/sub/.claude/skills",
)


def test_skills_are_found_in_all_folders(tmp_path: Path) -> None:
    names = [f"s{n}" for n in range(len(PLACES))]
    for name, place in zip(names, PLACES, strict=True):
        write(tmp_path / "home", {f"{place}/{name}/SKILL.md": skill(name)})
    write(tmp_path / "home", {".claude/skills/README.md": "x", "other/x/SKILL.md": skill("x")})
    found = skills(tmp_path).find()
    assert sorted(found.skills) == sorted(names)
    assert not found.notes
    assert len(skills(tmp_path, trusted=False).find().skills) == 5


def test_a_bad_skill_does_not_affect_the_others(tmp_path: Path) -> None:
    write(
        tmp_path / "home/.claude/skills",
        {
            "good/SKILL.md": GOOD,
            "colon/SKILL.md": "---\nname: colon\ndescription: A: b\n---\nx",
            "tabs/SKILL.md": "---\nname: tabs\nmetadata:\n\tx: y\ndescription: T\n---\nx",
            "empty/x.txt": "no SKILL.md here",
            "huge/SKILL.md": b"x" * 5_000_000,
            "broken/SKILL.md": "---\nname: [broken\n---\nx",
            "binary/SKILL.md": b"---\nname: b\xff\xfe\n---\n",
            "named/SKILL.md": "---\nname: ../../evil name\ndescription: d\n---\n",
        },
    )
    os.mkfifo(tmp_path / "home/.claude/skills/empty/SKILL.md")
    found = skills(tmp_path).find()
    assert list(found.skills) == ["colon", "good", "tabs"]
    assert found.skills["colon"].description == "A: b"
    left_out = sorted(note.split("/")[3] for note in found.notes)
    assert left_out == ["binary", "broken", "huge", "named"]


def test_missing_fields_of_a_skill_come_from_its_file(tmp_path: Path) -> None:
    files = {
        "bare/SKILL.md": "# Bare words\n\nmore",
        "nothing/SKILL.md": "---\nname: nothing\n---\n",
    }
    write(tmp_path / "home/.claude/skills", files)
    found = skills(tmp_path).find()
    assert found.skills["bare"].description == "Bare words"
    assert "nothing" not in found.skills
    assert "it has no description" in found.notes[0]


def test_the_later_of_two_skills_with_one_name_counts_and_is_reported(tmp_path: Path) -> None:
    write(
        tmp_path / "home",
        {
            ".claude/skills/a/SKILL.md": skill("a", "theirs"),
            "shop/.opencode-py/skills/a/SKILL.md": skill("a", "the project's"),
        },
    )
    found = skills(tmp_path).find()
    assert found.skills["a"].description == "the project's"
    assert len(found.notes) == 1
    assert "Two skills are named a" in found.notes[0]


def test_the_list_of_skills_is_limited_and_has_no_hidden_ones(tmp_path: Path) -> None:
    hidden = "---\nname: hidden\ndescription: h\ndisable-model-invocation: true\n---\n"
    write(tmp_path / "home/.claude/skills", {"hidden/SKILL.md": hidden})
    for n in range(40):
        write(tmp_path / "home/.claude/skills", {f"s{n}/SKILL.md": skill(f"s{n}", "x" * 3000)})
    found = skills(tmp_path).find()
    text = skill_list(found.skills.values())
    assert len(text) < MAX_LISTED + 1000
    assert "hidden" not in text
    assert text.count("\n- ") == 39
    assert text.endswith("- s9")


# In a session


async def test_the_prompt_has_names_and_the_text_is_loaded_on_demand(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write(home, {".claude/skills/good/SKILL.md": GOOD, ".claude/skills/good/run.py": "print()"})
    write(home, {".claude/skills/secret/SKILL.md": skill("secret", "SECRET-WORD")})
    async with open_harness(tmp_path, permission={"skill": {"secret": "deny"}}) as harness:
        run = str(home / ".claude/skills/good/run.py")
        harness.server.script(
            answer(Call("skill", {"name": "good"})),
            answer(Call("skill", {"name": "secret"})),
            answer(Call("skill", {"name": "goood"})),
            answer(Call("read", {"file_path": run})),
            answer(Text("done")),
        )
        session = await harness.session()
        await harness.turn(session, "go")
        first = json.dumps(harness.server.requests[0].body["messages"])
        assert "- good: Does good." in first
        assert "GOOD BODY" not in first
        assert "SECRET-WORD" not in first
        loaded, denied, unknown, read = [part.state for part in await harness.tools(session)]
        assert isinstance(loaded, Completed)
        assert "GOOD BODY" in loaded.output
        assert "Files beside it: run.py" in loaded.output
        assert isinstance(denied, Failed)
        assert denied.kind == "denied"
        assert isinstance(unknown, Failed)
        assert unknown.error == "There is no skill named 'goood'. Did you mean good?"
        assert isinstance(read, Completed)


async def test_the_skill_tool_appears_with_the_first_skill(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.always(answer(Text("done")))
        session = await harness.session()
        await harness.turn(session, "one")
        write(tmp_path / "home/.agents/skills", {"good/SKILL.md": GOOD})
        await harness.turn(session, "two")
        offered = [
            {tool["function"]["name"] for tool in request.body["tools"]}
            for request in harness.server.requests
        ]
        assert ["skill" in names for names in offered] == [False, True]
        assert "The skills are now" in json.dumps(harness.server.requests[1].body["messages"][-1])


async def test_each_bad_skill_is_reported_once(tmp_path: Path) -> None:
    write(tmp_path / "home/.agents/skills", {"bad/SKILL.md": "---\nname: [bad\n---\n"})
    async with open_harness(tmp_path) as harness:
        harness.server.always(answer(Text("done")))
        session = await harness.session()
        for text in ("one", "two"):
            await harness.turn(session, text)
        notices = [e.message for e in harness.events if isinstance(e, Notice)]
        assert len(notices) == 1
        assert "bad/SKILL.md is ignored" in notices[0]


@pytest.mark.parametrize("agent", ["title", "compaction"])
async def test_an_agent_without_tools_gets_no_list_of_skills(tmp_path: Path, agent: str) -> None:
    write(tmp_path / "home/.agents/skills", {"good/SKILL.md": GOOD})
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Text("done")))
        session = await harness.session()
        await harness.send(session, "go", agent=agent)
        await harness.idle(session)
        assert "Does good." not in json.dumps(harness.server.requests[0].body)
