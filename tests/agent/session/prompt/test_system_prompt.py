"""The system prompt and its reminders."""

import json
import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from agent.records.context_parts import ContextPart
from agent.records.events import Notice
from agent.records.messages import Completed, MessageWithParts
from agent.runtime.runtime import open_runtime
from agent.session.api import PromptInput
from tests.support.harness import environment, open_harness
from tests.support.prompts import DONE, system, text, trusted, write
from tests.support.script import Call, Text, Tokens, answer


def git(folder: Path, *arguments: str) -> None:
    name = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", "-C", str(folder), *name, *arguments], check=True, capture_output=True)


def prompt_context(messages: list[MessageWithParts]) -> list[ContextPart]:
    return [part for item in messages for part in item.parts if isinstance(part, ContextPart)]


def reads(path: str) -> tuple:
    return answer(Call("read", {"file_path": path}))


# The session part


async def test_the_block_describes_the_environment(tmp_path: Path) -> None:
    write(tmp_path / "project", {"a.txt": "a"})
    git(tmp_path / "project", "init", "-q", "-b", "trunk")
    async with open_harness(tmp_path) as harness:
        harness.server.script(DONE)
        session = await harness.session()
        await harness.turn(session, "go")
        block = system(harness.server.requests[0].body)
    assert f"Working directory: {tmp_path / 'project'}" in block
    assert "Git repository: yes\nBranch: trunk" in block
    for line in ("?? a.txt", "Platform: ", "Date: 20"):
        assert line in block


async def test_the_block_names_the_model_the_main_branch_and_the_newest_commits(
    tmp_path: Path,
) -> None:
    project = tmp_path / "project"
    write(project, {"a.txt": "a"})
    git(project, "init", "-q", "-b", "main")
    for number in range(7):
        git(project, "commit", "-q", "--allow-empty", "-m", f"Step {number} </environment>")
    git(project, "switch", "-q", "-c", "topic")
    async with open_harness(tmp_path) as harness:
        harness.server.script(DONE)
        await harness.turn(await harness.session(), "go")
        block = system(harness.server.requests[0].body)
    assert "Branch: topic\nMain branch: main\n" in block
    assert "Model: scripted/model-1" in block
    commits = block.partition("Recent commits:\n")[2]
    assert [f"Step {number} &lt;/environment>" in commits for number in range(7)] == [
        *(False, False, True, True, True, True, True)
    ]


async def test_a_long_status_is_bounded(tmp_path: Path) -> None:
    write(tmp_path / "project", {f"{n}.txt": "a" for n in range(50)})
    git(tmp_path / "project", "init", "-q")
    async with open_harness(tmp_path) as harness:
        harness.server.script(DONE)
        await harness.turn(await harness.session(), "go")
        block = system(harness.server.requests[0].body)
    assert block.count("??") == 20
    assert "… and 30 more" in block


async def test_no_text_of_an_untrusted_project_reaches_a_prompt(tmp_path: Path) -> None:
    skill = "---\nname: x\ndescription: SKILL-WORD\n---\nbody"
    files = {"AGENTS.md": "ROOT-WORD", "sub/AGENTS.md": "SUB-WORD", "sub/a.txt": "x"}
    write(tmp_path / "project", {**files, ".claude/skills/x/SKILL.md": skill})
    async with open_harness(tmp_path) as harness:
        harness.server.script(reads("sub/a.txt"), DONE)
        await harness.turn(await harness.session(), "go")
        for word in ("ROOT-WORD", "SUB-WORD", "SKILL-WORD"):
            assert word not in text(harness.server.requests[-1].body)


async def test_a_session_of_another_project_gets_no_text_of_the_opened_one(tmp_path: Path) -> None:
    """The trust of the opened folder is not that of the session's."""
    other = tmp_path / "other"
    write(other, {"AGENTS.md": "OTHER-WORD", "sub/AGENTS.md": "SUB-WORD", "sub/a.txt": "x"})
    async with trusted(tmp_path, {"AGENTS.md": "ROOT-WORD"}, permission="allow") as harness:
        harness.server.script(reads("sub/a.txt"), DONE)
        session = replace(await harness.session(), directory=str(other), project=str(other))
        await harness.runtime.store.save(session)
        await harness.turn(session, "go")
        body = text(harness.server.requests[-1].body)
        assert not [w for w in ("OTHER-WORD", "SUB-WORD", "ROOT-WORD") if w in body]


async def test_each_instruction_is_sent_exactly_once_where_it_applies(tmp_path: Path) -> None:
    files = {
        "AGENTS.md": "ROOT-WORD @x.md",
        "x.md": "IMPORT-WORD @AGENTS.md",
        "sub/AGENTS.md": "SUB-WORD",
        "sub/a.txt": "x",
        "other.txt": "x",
    }
    async with trusted(tmp_path, files) as harness:
        harness.server.script(reads("other.txt"), reads("sub/a.txt"), reads("sub/a.txt"), DONE)
        session = await harness.session()
        await harness.turn(session, "go")
        bodies = [text(request.body) for request in harness.server.requests]
        assert [body.count("SUB-WORD") for body in bodies] == [0, 0, 1, 1]
        for body in bodies:
            assert body.count("ROOT-WORD") == 1
            assert body.count("IMPORT-WORD") == 1
        harness.server.script(reads("sub/a.txt"), DONE)
        await harness.turn(session, "again")
        assert text(harness.server.requests[-1].body).count("SUB-WORD") == 1


async def test_a_child_agent_has_the_same_instructions(tmp_path: Path) -> None:
    files = {"AGENTS.md": "ROOT-WORD @x.md", "x.md": "IMPORT-WORD", "sub/AGENTS.md": "SUB-WORD",
             "sub/a.txt": "x"}  # fmt: skip
    async with trusted(tmp_path, files) as harness:
        task = {"description": "look", "prompt": "CHILD-TASK", "subagent_type": "explore"}
        harness.server.script(
            answer(Call("task", task)), reads("sub/a.txt"), answer(Text("report")), DONE
        )
        await harness.turn(await harness.session(), "go")
        child = text(harness.server.requests[2].body)
        assert "CHILD-TASK" in child
        for word in ("ROOT-WORD", "IMPORT-WORD", "SUB-WORD"):
            assert child.count(word) == 1
        parent = text(harness.server.requests[3].body)
        assert "SUB-WORD" not in parent


async def test_the_first_of_parallel_calls_brings_the_instructions(
    tmp_path: Path,
) -> None:
    files = {"sub/AGENTS.md": "SUB-WORD", "sub/a.txt": "x", "sub/b.txt": "x"}
    async with trusted(tmp_path, files) as harness:
        calls = [Call("read", {"file_path": f"sub/{name}.txt"}) for name in "ab"]
        harness.server.script(answer(*calls), DONE)
        session = await harness.session()
        await harness.turn(session, "go")
        states = [part.state for part in await harness.tools(session)]
        assert all(isinstance(state, Completed) for state in states)
        assert ["SUB-WORD" in str(state.reminders) for state in states] == [True, False]
        assert states[0].facts[-1] == "with sub/AGENTS.md"
        assert states[0].attached
        assert not states[1].attached


async def test_edits_and_writes_bring_instructions_and_failed_calls_do_not(
    tmp_path: Path,
) -> None:
    files = {f"{name}/AGENTS.md": f"{name}-WORD" for name in ("a", "b", "c", "d")}
    patch = "*** Begin Patch\n*** Add File: d/z.txt\n+z\n*** End Patch"
    async with trusted(tmp_path, {**files, "a/x.txt": "old"}, permission="allow") as harness:
        edit = {"file_path": "a/x.txt", "old_string": "old", "new_string": "new"}
        harness.server.script(
            answer(Call("edit", edit)),
            answer(Call("write", {"file_path": "b/y.txt", "content": "y"})),
            reads("c/missing.txt"),
            answer(Call("apply_patch", {"patch": patch})),
            DONE,
        )
        await harness.turn(await harness.session(), "go")
        body = text(harness.server.requests[-1].body)
        said = [f"{name}-WORD" in body for name in ("a", "b", "c", "d")]
        assert said == [True, True, False, True]


async def test_a_changed_nested_file_is_sent_again(tmp_path: Path) -> None:
    async with trusted(tmp_path, {"sub/AGENTS.md": "OLD-WORD", "sub/a.txt": "x"}) as harness:
        session = await harness.session()
        harness.server.script(reads("sub/a.txt"), DONE)
        await harness.turn(session, "go")
        write(harness.folder, {"sub/AGENTS.md": "NEW-WORD"})
        harness.server.script(reads("sub/a.txt"), DONE)
        await harness.turn(session, "again")
        body = text(harness.server.requests[-1].body)
        assert body.count("NEW-WORD") == body.count("OLD-WORD") == 1


# Reminders


async def test_changes_are_sent_with_the_newest_message(tmp_path: Path) -> None:
    files = {"AGENTS.md": "FIRST-WORD", "a.txt": "a"}
    git_folder = tmp_path / "project"
    write(git_folder, files)
    git(git_folder, "init", "-q", "-b", "trunk")
    git(git_folder, "add", ".")
    git(git_folder, "commit", "-qm", "a")
    async with trusted(tmp_path) as harness:
        harness.server.always(DONE)
        session = await harness.session()
        await harness.turn(session, "one")
        await harness.turn(session, "two")
        assert [bool(part.block) for part in prompt_context(await harness.messages(session))] == [
            True
        ]
        git(git_folder, "checkout", "-qb", "feature")
        write(git_folder, {"AGENTS.md": "SECOND-WORD", "new.txt": "x"})
        await harness.turn(session, "three")
        (git_folder / "AGENTS.md").unlink()
        await harness.turn(session, "four")
        first, second, third, fourth = [r.body["messages"] for r in harness.server.requests]
        assert second[: len(first)] == first
        assert third[: len(second)] == second
        assert fourth[: len(third)] == third
        reminder = text(third[-1])
        for words in ("three", "The git branch is now feature", "?? new.txt", "SECOND-WORD",
                      "changed the instructions in AGENTS.md"):  # fmt: skip
            assert words in reminder
        assert "The date is" not in reminder
        assert "The instructions in AGENTS.md no longer apply." in text(fourth[-1])
        assert "SECOND-WORD" not in text(fourth[-1])


async def test_plan_mode_is_announced_and_revoked_without_changing_the_head(
    tmp_path: Path,
) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.always(DONE)
        session = await harness.session()
        for agent in ("build", "plan", "plan", "build"):
            before = len(harness.events)
            await harness.send(session, agent, agent=agent)
            await harness.idle(session, after=before)
        bodies = [request.body for request in harness.server.requests]
        assert len({system(body) for body in bodies}) == 1
        offered = [{tool["function"]["name"] for tool in body["tools"]} for body in bodies]
        assert [tools - offered[0] for tools in offered] == [
            set(),
            {"plan_exit"},
            {"plan_exit"},
            set(),
        ]
        said = [text(body["messages"][-1]) for body in bodies]
        assert ["Plan mode is on" in words for words in said] == [False, True, False, False]
        assert ["Plan mode is off" in words for words in said] == [False, False, False, True]


async def test_a_session_that_starts_in_plan_mode_has_it_in_its_block(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.always(DONE)
        session = await harness.session()
        await harness.runtime.sessions.prompt(session.id, PromptInput(text="go", agent="plan"))
        await harness.idle(session)
        body = harness.server.requests[0].body
        assert "Plan mode is on" in system(body)
        assert "Plan mode is on" not in text(body["messages"][-1])


async def test_a_restart_and_a_fork_send_the_same_bytes(tmp_path: Path) -> None:
    async with trusted(tmp_path, {"AGENTS.md": "ROOT-WORD"}) as harness:
        harness.server.always(DONE)
        session = await harness.session()
        await harness.turn(session, "one")
        write(harness.folder, {"AGENTS.md": "CHANGED-WORD"})
        await harness.turn(session, "two")
        sent = harness.server.requests[-1].body["messages"]
        fork = await harness.runtime.sessions.repository.fork(session.id)
        await harness.turn(fork, "three")
        assert harness.server.requests[-1].body["messages"][: len(sent)] == sent
        again = await open_runtime(harness.folder, env=environment(harness.home))
        subscription, _ = await again.sessions.attach(session.id)
        await again.sessions.prompt(session.id, PromptInput(text="three"))
        await again.sessions.wait(session.id)
        subscription.close()
        await again.close()
        assert harness.server.requests[-1].body["messages"][: len(sent)] == sent


async def test_a_prompt_overtaken_by_a_cancel_gets_no_context_twice(
    tmp_path: Path,
) -> None:
    async with trusted(tmp_path, {"AGENTS.md": "ROOT-WORD"}) as harness:
        harness.server.always(DONE)
        session = await harness.session()
        await harness.send(session, "one")
        await harness.runtime.sessions.cancel(session.id)
        await harness.idle(session)
        await harness.turn(session, "two")
        assert text(harness.server.requests[-1].body).count("ROOT-WORD") == 1


async def test_a_compaction_renews_the_block_and_drops_old_reminders(
    tmp_path: Path,
) -> None:
    files = {"AGENTS.md": "FIRST-WORD", "sub/AGENTS.md": "SUB-WORD", "sub/a.txt": "x"}
    async with trusted(tmp_path, files) as harness:
        session = await harness.session()
        harness.server.script(reads("sub/a.txt"), DONE)
        await harness.turn(session, "one")
        write(harness.folder, {"AGENTS.md": "SECOND-WORD"})
        harness.server.script(DONE)
        await harness.turn(session, "two " + "word " * 60_000)
        assert "changed the instructions" in text(harness.server.requests[-1].body)
        # The next response fills the window; the prompt after it compacts first.
        harness.server.script(
            answer(Text("long"), Tokens(prompt=99_000)),
            answer(Text("THE SUMMARY")),
            DONE,
        )
        await harness.turn(session, "three")
        await harness.turn(session, "four")
        body = harness.server.requests[-1].body
        assert "THE SUMMARY" in text(body)
        assert "SECOND-WORD" in system(body)
        assert "FIRST-WORD" not in text(body)
        assert "changed the instructions" not in text(body)
        harness.server.script(reads("sub/a.txt"), DONE)
        await harness.turn(session, "five")
        assert text(harness.server.requests[-1].body).count("SUB-WORD") == 1


async def test_the_start_of_requests_never_changes_over_50_steps_and_5_turns(
    tmp_path: Path,
) -> None:
    """Every request begins with the bytes of the one before it."""
    folder = tmp_path / "project"
    write(folder, {"AGENTS.md": "rules 0", "sub/AGENTS.md": "sub rules", "sub/a.txt": "x"})
    git(folder, "init", "-q", "-b", "trunk")
    async with trusted(tmp_path) as harness:
        session = await harness.session()
        for turn in range(5):
            for step in range(10):
                path = "sub/a.txt" if step % 3 else "AGENTS.md"
                harness.server.script(answer(Call("read", {"file_path": path, "limit": step + 1})))
                write(folder, {f"made-{turn}-{step}.txt": "x"})
            harness.server.script(answer(Text("done")))
            await harness.turn(session, f"turn {turn}")
            write(folder, {"AGENTS.md": f"rules {turn + 1}"})
            git(folder, "checkout", "-q", "-b", f"branch-{turn}")
        bodies = [request.body for request in harness.server.requests]
        assert len(bodies) == 55
        for earlier, later in pairwise(bodies):
            assert json.dumps(later["tools"]) == json.dumps(earlier["tools"])
            before = json.dumps(earlier["messages"])[:-1]
            assert json.dumps(later["messages"]).startswith(before)
        assert "rules 4" in text(bodies[-1])
        assert "The git branch is now branch-3" in text(bodies[-1])


# Notices


async def test_truncated_and_excluded_files_are_reported_to_the_user_once(tmp_path: Path) -> None:
    async with trusted(tmp_path, {"AGENTS.md": "word " * 60_000}) as harness:
        harness.server.always(DONE)
        session = await harness.session()
        await harness.turn(session, "one")
        await harness.turn(session, "two")
        notices = [e.message for e in harness.events if isinstance(e, Notice)]
        assert len(notices) == 1
        assert "only the first 40,000 reach the model" in notices[0]
