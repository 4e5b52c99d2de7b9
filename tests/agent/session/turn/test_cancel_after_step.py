"""A cancel between the end of a step and the storage of its changes and cost."""

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from agent.records.events import SessionStatusChanged
from agent.records.messages import Busy, PatchPart, Usage
from tests.support.harness import open_harness
from tests.support.script import Call, Text, answer

FREE = {"permission": {"bash": "allow", "edit": "allow"}}

SLOW_GIT = """\
#!/bin/sh
case "$*" in *diff-tree*) [ -p {gate} ] && cat {gate} ;; esac
exec {git} "$@"
"""


async def test_a_cancel_while_a_steps_changes_are_read_loses_neither_them_nor_its_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The step is over and its message is stored; the user stops the turn while git reads the
    changes. They can still be undone, and the tokens are in the session's totals."""
    gate = tmp_path / "gate"
    await asyncio.to_thread(os.mkfifo, gate)
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text(SLOW_GIT.format(gate=gate, git=shutil.which("git")))
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent), prepend=":")
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.script(
            answer(Call("bash", {"command": "echo x > made"})), answer(Text("never asked"))
        )
        session = await harness.session()
        await harness.send(session, "go")
        reading = await asyncio.to_thread(gate.open, "w")  # until git reads the changes
        await harness.runtime.sessions.cancel(session.id)
        await harness.until(
            lambda e: (
                isinstance(e, SessionStatusChanged)
                and isinstance(e.status, Busy)
                and e.status.cancelling
            )
        )
        gate.unlink()
        reading.close()
        assert (await harness.idle(session)).outcome == "cancelled"
        (patch,) = [part for part in await harness.parts(session) if isinstance(part, PatchPart)]
        assert patch.files == ("made",)
        plan = await harness.runtime.sessions.undo.plan(session.id)
        assert plan is not None
        assert [file.path for file in plan.files] == ["made"]
        assert (await harness.runtime.store.session(session.id)).usage != Usage()
