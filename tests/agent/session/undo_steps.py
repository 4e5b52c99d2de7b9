"""Steps of tests of undo."""

import subprocess
from pathlib import Path

from agent.records.messages import Session
from agent.session.undo import UndoPlan
from tests.support.harness import Harness
from tests.support.script import Answer, Call, Text, answer

FREE = {"permission": {"bash": "allow", "edit": "allow"}}


def bash(command: str) -> Answer:
    return answer(Call("bash", {"command": command}))


async def turn(harness: Harness, session: Session, text: str, *answers: Answer) -> None:
    harness.server.replace((*answers, answer(Text("done"))))
    assert (await harness.turn(session, text)).outcome == "completed"


async def plan(harness: Harness, session: Session) -> UndoPlan:
    made = await harness.runtime.sessions.undo.plan(session.id)
    assert made is not None
    return made


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes()
        for p in sorted(folder.rglob("*"))
        if p.is_file() and ".git" not in p.relative_to(folder).parts
    }
