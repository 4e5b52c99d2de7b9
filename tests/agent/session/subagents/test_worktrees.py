"""Sub-agents that work in worktrees of their own."""

from pathlib import Path

import pytest

from agent.records.context_parts import ReportPart
from agent.records.messages import Completed, Failed, Session
from agent.runtime.merging import merge
from agent.runtime.worktrees import Worktrees
from tests.support.git import git, make_repository
from tests.support.harness import Harness, open_harness
from tests.support.script import Call, Hold, Text, answer
from tests.support.subagents import Script, children, output, task

BUILDER = {
    "agent": {"builder": {"description": "Builds.", "mode": "subagent", "worktree": True}},
    "permission": "allow",
}


def make_project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.txt").write_text("one\n")
    (folder / "AGENTS.md").write_text("Write in capitals.\n")
    make_repository(folder)
    return folder


def write(path: str, text: str) -> Call:
    return Call("write", {"file_path": path, "content": text})


async def only_child(harness: Harness, session: Session) -> Session:
    (child,) = await children(harness, session)
    return child


def exists(child: Session) -> bool:
    return Path(child.directory).exists()


def read(child: Session, path: str) -> str:
    return Path(child.directory, path).read_text()


def worktrees_of(harness: Harness) -> list[str]:
    return [one.name for one in Worktrees(harness.runtime.paths, harness.folder).all()]


async def test_its_changes_stay_in_a_worktree_that_the_report_names(tmp_path: Path) -> None:
    folder = make_project(tmp_path)
    async with open_harness(
        tmp_path, trust_once=True, worktree={"setup": "echo ready > ../setup.txt"}, **BUILDER
    ) as harness:
        harness.server.always(
            Script(
                answer(task("build", "builder")),
                answer(Text("done")),
                build=[
                    answer(write("src/b.txt", "two\n"), Call("bash", {"command": "pwd"})),
                    answer(Text("I wrote it.")),
                ],
            )
        )
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        child = await only_child(harness, session)
        place = Path(child.directory)
        assert place.is_relative_to(harness.runtime.paths.data / "worktrees")
        assert (place / "src" / "b.txt").read_text() == "two\n"
        assert (place.parent / "setup.txt").read_text() == "ready\n"
        assert git(folder, "status", "--short") == ""
        _, ran = await harness.tools(child)
        assert output(ran).strip() == child.directory
        (call,) = await harness.tools(session)
        branch = f"opencode/{place.name}"
        assert git(place, "branch", "--show-current").strip() == branch
        told = output(call)
        assert "I wrote it." in told
        assert f"in the worktree {place}, on the branch {branch} (src/b.txt)" in told
        assert f"/merge {place.name}" in told
        assert isinstance(call.state, Completed)
        assert f"branch {branch}" in call.state.facts
        first = str(harness.server.requests[1].body)
        assert f"Working directory: {place}" in first
        assert "a git worktree of your own" in first
        assert "Write in capitals." in first


@pytest.mark.parametrize("background", [False, True])
async def test_a_worktree_without_changes_is_removed(tmp_path: Path, background: bool) -> None:
    folder = make_project(tmp_path)
    async with open_harness(tmp_path, trust_once=True, **BUILDER) as harness:
        harness.server.always(
            Script(
                answer(task("look", "builder", background=background)),
                answer(Text("waiting")),
                answer(Text("done")),
                look=[answer(Call("read", {"file_path": "src/a.txt"})), answer(Text("One line."))],
            )
        )
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        parts = await harness.parts(session)
        told = [part.text for part in parts if isinstance(part, ReportPart)]
        told += [output(part) for part in await harness.tools(session)]
        assert any("One line." in text and "worktree was removed" in text for text in told)
        child = await only_child(harness, session)
        assert not exists(child)
        assert worktrees_of(harness) == []
        assert git(folder, "branch", "--list", "opencode/*") == ""
        assert "opencode" not in git(folder, "worktree", "list", "--porcelain")


async def test_what_the_setup_command_writes_is_no_change_of_its_own(tmp_path: Path) -> None:
    make_project(tmp_path)
    settings = {**BUILDER, "worktree": {"setup": "echo ready > setup.txt"}}
    async with open_harness(tmp_path, trust_once=True, **settings) as harness:
        harness.server.always(
            Script(
                *(answer(task(word, "builder")) for word in ("look", "build")),
                answer(Text("done")),
                look=[answer(Text("Seen."))],
                build=[answer(write("b.txt", "two\n")), answer(Text("Built."))],
            )
        )
        session = await harness.session()
        await harness.turn(session, "go")
        looked, built = await harness.tools(session)
        assert "its worktree was removed" in output(looked)
        assert "(b.txt)" in output(built)
        assert len(worktrees_of(harness)) == 1


async def test_parallel_sub_agents_have_a_worktree_each(tmp_path: Path) -> None:
    make_project(tmp_path)
    holds = {word: Hold() for word in ("alpha", "beta")}
    async with open_harness(tmp_path, trust_once=True, **BUILDER) as harness:
        harness.server.always(
            Script(
                answer(task("alpha", "builder"), task("beta", "builder")),
                answer(Text("done")),
                **{
                    word: [answer(write("src/b.txt", f"{word}\n"), hold), answer(Text(word))]
                    for word, hold in holds.items()
                },
            )
        )
        session = await harness.session()
        await harness.send(session, "go")
        for hold in holds.values():
            await hold.reached.wait()
        for hold in holds.values():
            hold.gate.set()
        assert (await harness.idle(session)).outcome == "completed"
        texts = {
            child.title: read(child, "src/b.txt") for child in await children(harness, session)
        }
        assert texts == {"alpha": "alpha\n", "beta": "beta\n"}
        assert not (harness.folder / "src" / "b.txt").exists()
        assert len(worktrees_of(harness)) == 2


async def test_it_can_be_continued_where_it_worked(tmp_path: Path) -> None:
    make_project(tmp_path)
    async with open_harness(tmp_path, trust_once=True, **BUILDER) as harness:
        look = [
            answer(Text("Nothing to do.")),
            answer(write("src/b.txt", "two\n")),
            answer(Text("Now.")),
        ]
        harness.server.always(
            Script(answer(task("look", "builder")), answer(Text("ok")), look=look)
        )
        session = await harness.session()
        await harness.turn(session, "go")
        child = await only_child(harness, session)
        assert not exists(child)
        again = task("look", "builder", session_id=child.id)
        harness.server.always(Script(answer(again), answer(Text("ok")), look=look))
        await harness.turn(session, "again")
        assert read(child, "src/b.txt") == "two\n"
        worktrees = Worktrees(harness.runtime.paths, harness.folder)
        (kept,) = worktrees.all()
        await merge(kept, "squash", "b")
        await worktrees.remove(kept)
        harness.server.always(Script(answer(again), answer(Text("ok")), look=look))
        await harness.turn(session, "and again")
        failed = (await harness.tools(session))[-1]
        assert isinstance(failed.state, Failed)
        assert "its branch opencode/builder-" in failed.state.error


async def test_undo_leaves_the_worktree_and_works_in_it(tmp_path: Path) -> None:
    folder = make_project(tmp_path)
    async with open_harness(tmp_path, trust_once=True, **BUILDER) as harness:
        harness.server.always(
            Script(
                answer(write("mine.txt", "mine\n"), task("build", "builder")),
                answer(Text("done")),
                build=[
                    answer(Call("read", {"file_path": "src/a.txt"})),
                    answer(write("src/a.txt", "two\n")),
                    answer(Text("I wrote it.")),
                ],
            )
        )
        session = await harness.session()
        await harness.turn(session, "go")
        child = await only_child(harness, session)
        undo = harness.runtime.sessions.undo
        shown = await undo.changes.diffs(await harness.messages(session))
        assert [block.path for block in shown] == ["mine.txt"]
        shown = await undo.changes.diffs(await harness.messages(child))
        assert [block.path for block in shown] == ["src/a.txt"]
        plan = await undo.plan(session.id)
        assert plan is not None
        assert [file.path for file in plan.files] == ["mine.txt"]
        assert f"“build” worked in {child.project}" in " ".join(plan.notes)
        assert await undo.undo(plan, files=True, conversation=False) == ()
        assert not (folder / "mine.txt").exists()
        assert read(child, "src/a.txt") == "two\n"
        plan = await undo.plan(child.id)
        assert plan is not None
        assert [file.path for file in plan.files] == ["src/a.txt"]
        assert await undo.undo(plan, files=True, conversation=True) == ()
        assert read(child, "src/a.txt") == "one\n"
        assert (folder / "src" / "a.txt").read_text() == "one\n"
        await undo.redo(child.id)
        assert read(child, "src/a.txt") == "two\n"


async def test_a_canceled_one_keeps_only_what_it_changed(tmp_path: Path) -> None:
    make_project(tmp_path)
    holds = [Hold(), Hold()]
    async with open_harness(tmp_path, trust_once=True, **BUILDER) as harness:
        harness.server.always(
            Script(
                answer(task("one", "builder"), task("two", "builder")),
                one=[answer(Text("thinking "), holds[0])],
                two=[answer(write("b.txt", "two\n")), answer(Text("more "), holds[1])],
            )
        )
        session = await harness.session()
        await harness.send(session, "go")
        for hold in holds:
            await hold.reached.wait()
        await harness.runtime.sessions.cancel(session.id)
        assert (await harness.idle(session)).outcome == "cancelled"
        changed = [child.title for child in await children(harness, session) if exists(child)]
        assert changed == ["two"]
        assert len(worktrees_of(harness)) == 1


async def test_without_a_repository_the_model_is_told_why(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **BUILDER) as harness:
        harness.server.always(Script(answer(task("build", "builder")), answer(Text("ok"))))
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
        (call,) = await harness.tools(session)
        assert isinstance(call.state, Failed)
        assert "The sub-agent builder was not started. There is no git repository" in output(call)
        assert await children(harness, session) == []


async def test_uncommitted_changes_are_named_to_it(tmp_path: Path) -> None:
    folder = make_project(tmp_path)
    (folder / "new.txt").write_text("not committed\n")
    async with open_harness(tmp_path, trust_once=True, **BUILDER) as harness:
        harness.server.always(
            Script(
                answer(task("look", "builder")), answer(Text("ok")), look=[answer(Text("Seen."))]
            )
        )
        await harness.turn(await harness.session(), "go")
        assert "without your changes to 1 file" in str(harness.server.requests[1].body)
