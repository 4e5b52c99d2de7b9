"""Undo of the agent's own edits in files that the snapshots of the project do not contain."""

import os
from pathlib import Path

import pytest

from tests.agent.session.undo_steps import FREE, bash, files, git, plan, turn
from tests.support.harness import Harness, open_harness
from tests.support.script import Call, Text, answer


def separate(harness: Harness, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the folder ``sub`` one that the snapshots of the project do not contain."""
    sub = harness.folder / "sub"
    sub.mkdir()
    (sub / "x.txt").write_bytes(b"one\r\n")
    (sub / "old.txt").write_text("old\n")
    (sub / "run.sh").write_text("true\n")
    (sub / "run.sh").chmod(0o755)
    if kind == "home":
        monkeypatch.setenv("HOME", str(harness.folder))
    if kind in {"home", "off"}:
        return
    if kind == "ignored repository":
        (harness.folder / ".gitignore").write_text("/sub/\n")
    if kind != "no repository above":
        git(harness.folder, "init", "-q")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        git(sub, *words)
    if kind == "submodule":
        source = harness.folder.with_name("source")
        sub.rename(source)
        allowed = ("-c", "protocol.file.allow=always")
        git(harness.folder, *allowed, "submodule", "--quiet", "add", str(source), "sub")
        git(harness.folder, "commit", "-qm", "y")


SEPARATE = ("repository", "submodule", "ignored repository", "no repository above", "home", "off")


@pytest.mark.parametrize("kind", SEPARATE)
async def test_edits_where_the_project_has_no_snapshots_are_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The agent's own edits in repositories inside the project and in folders that are not
    covered, over several prompts and steps, are undone and redone in order."""
    async with open_harness(tmp_path, snapshot=kind != "off", **FREE) as harness:
        separate(harness, kind, monkeypatch)
        states = [files(harness.folder)]
        session = await harness.session()
        edit = {"file_path": "sub/x.txt", "old_string": "one", "new_string": "two"}
        again = {"file_path": "sub/x.txt", "old_string": "two", "new_string": "three"}
        new = {"file_path": "sub/deep/new.txt", "content": "new\n"}
        own = {"file_path": "own.txt", "content": "own\n"}
        both = answer(Call("edit", again), Call("write", new), Call("write", own))
        await turn(harness, session, "first", answer(Call("edit", edit)), both)
        states.append(files(harness.folder))
        script = {"file_path": "sub/run.sh", "old_string": "true", "new_string": "false"}
        last = {"file_path": "sub/x.txt", "old_string": "three", "new_string": "four"}
        await turn(
            harness, session, "second", answer(Call("edit", script)), answer(Call("edit", last))
        )
        states.append(files(harness.folder))
        undo = harness.runtime.sessions.undo
        made = await plan(harness, session)
        assert [(f.path, f.effect, f.modified_since) for f in made.files] == [
            ("sub/run.sh", "will be reverted", False),
            ("sub/x.txt", "will be reverted", False),
        ]
        assert made.not_restorable == ()
        shown = await undo.changes.diffs(await harness.messages(session))
        assert {block.path: block.change for block in shown} == {
            "own.txt": "create",
            "sub/deep/new.txt": "create",
            "sub/run.sh": "modify",
            "sub/x.txt": "modify",
        }
        assert await undo.undo(made, files=True, conversation=True) == ()
        assert files(harness.folder) == states[1]
        assert os.access(harness.folder / "sub/run.sh", os.X_OK)
        made = await plan(harness, session)
        assert {f.path: f.effect for f in made.files} == {
            "own.txt": "will be deleted",
            "sub/deep/new.txt": "will be deleted",
            "sub/x.txt": "will be reverted",
        }
        assert await undo.undo(made, files=True, conversation=True) == ()
        assert files(harness.folder) == states[0]
        for state in states[1:]:
            assert await undo.redo(session.id) == ()
            assert files(harness.folder) == state


@pytest.mark.parametrize("kind", SEPARATE)
async def test_only_the_agents_edits_are_undone_where_there_are_no_snapshots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """A sub-agent's patch is undone; a file that was changed since and changes of commands stay."""
    async with open_harness(tmp_path, snapshot=kind != "off", **FREE) as harness:
        separate(harness, kind, monkeypatch)
        session = await harness.session()
        patch = (
            "*** Begin Patch\n*** Delete File: sub/old.txt\n*** Update File: sub/run.sh\n"
            "*** Move to: sub/go.sh\n@@\n-true\n+false\n*** End Patch"
        )
        edit = {"file_path": "sub/x.txt", "old_string": "one", "new_string": "two"}
        task = answer(Call("task", {"description": "d", "prompt": "p"}))
        deputy = answer(Call("apply_patch", {"patch": patch}), Call("edit", edit))
        command = bash("echo command > sub/command.txt")
        await turn(harness, session, "go", task, deputy, answer(Text("did it")), command)
        (harness.folder / "sub/x.txt").write_text("theirs\n")
        made = await plan(harness, session)
        assert {f.path: (f.effect, f.modified_since) for f in made.files} == {
            "sub/go.sh": ("will be deleted", False),
            "sub/old.txt": ("will be restored", False),
            "sub/run.sh": ("will be restored", False),
            "sub/x.txt": ("will be reverted", True),
        }
        listed = kind in {"repository", "submodule", "no repository above"}
        assert made.nested_repositories == (("sub",) if listed else ())
        await harness.runtime.sessions.undo.undo(made, files=True, conversation=True)
        assert files(harness.folder / "sub") == {
            "command.txt": b"command\n",
            "old.txt": b"old\n",
            "run.sh": b"true\n",
            "x.txt": b"theirs\n",
        }
        assert os.access(harness.folder / "sub/run.sh", os.X_OK)
