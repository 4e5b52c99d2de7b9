"""Permission dialogs while calls run and while several sub-agents ask."""

import os
import re

import pytest

from tests.e2e.conftest import InstalledProgram, Runner, ServerThread
from tests.e2e.program import BUSY, tool_results
from tests.support.harness import config_for, write_config
from tests.support.script import Call, Text, answer
from tests.support.subagents import Script, task
from tests.support.terminal import processes_with

pytestmark = pytest.mark.e2e

CHILDREN = ("alpha", "beta", "gamma")


@pytest.mark.parametrize("key", ["\x1b", "\x03"])
def test_stopping_with_one_call_done_one_running_one_asking(
    run: Runner, installed: InstalledProgram, scripted: ServerThread, key: str
) -> None:
    """Esc rejects the request, which ends the turn; ctrl+c cancels the turn. Either way each call
    gets a result at once, and the strict server accepts the next prompt."""
    mark = f"sleep 62.{os.getpid() % 10_000:04}"
    (installed.project / ".env").write_text("KEY=1\n")
    write_config(installed.home, config_for(scripted.server, permission={"bash": "allow"}))
    scripted.server.script(
        answer(
            Call("list", {}),
            Call("bash", {"command": f"echo begun; {mark}"}),
            Call("read", {"file_path": ".env"}),
        ),
        answer(Text("fine now")),
    )
    with run(rows=40) as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        terminal.until(lambda: bool(processes_with(mark)), "the command never ran")
        terminal.wait(r"once +(always +)?reject")
        terminal.again(key, r"once +(always +)?reject", gone=True)
        terminal.until(lambda: not processes_with(mark), "the command lives on")
        terminal.wait(BUSY, gone=True)
        assert len(scripted.server.requests) == 1
        terminal.wait(r"(?s)● List.*⊘ Bash.*[⊘✕] Read")
        terminal.enter("and now?")
        terminal.wait(r"fine now")
    done, running, asking = tool_results(scripted)
    assert "calc.py" in done
    assert "Not run" not in running
    assert "begun" in running, "what it had printed"
    why = "the user rejected another call" if key == "\x1b" else "canceled by the user"
    assert why in running
    assert ("rejected" if key == "\x1b" else "canceled by the user") in asking.lower()


@pytest.mark.parametrize("last", ["o", "\x1b"])
def test_three_sub_agents_ask_at_once(
    run: Runner, installed: InstalledProgram, scripted: ServerThread, last: str
) -> None:
    """One dialog at a time, with the number waiting; each answer goes to its own request, and Esc
    rejects only that one."""
    work = {
        name: [answer(Call("bash", {"command": f"touch {name}"})), answer(Text(f"end {name}"))]
        for name in CHILDREN
    }
    write_config(installed.home, config_for(scripted.server))
    scripted.server.always(
        Script(answer(*map(task, CHILDREN)), answer(Text("all three told")), **work)
    )
    allowed: list[str] = []
    with run(rows=40) as terminal:
        terminal.wait(r"model-1")
        terminal.enter("go")
        for left, key in ((3, "o"), (2, "o"), (1, last)):
            count = f"1 of {left} waiting.*" if left > 1 else ""
            screen = terminal.wait(rf"(?s){count}▌    touch \w+.*once +always")
            name = re.findall(r"▌    touch (\w+)", screen)[0]
            terminal.again(key, rf"▌    touch {name}\b", gone=True)
            if key == "o":
                allowed.append(name)
        terminal.wait(r"all three told")
        terminal.wait(BUSY, gone=True)
    assert len(allowed) == (3 if last == "o" else 2)
    made = {path.name for path in installed.project.iterdir()}
    assert made & set(CHILDREN) == set(allowed)
    for name, told in zip(CHILDREN, tool_results(scripted), strict=True):
        if name in allowed:
            assert f"end {name}" in told
