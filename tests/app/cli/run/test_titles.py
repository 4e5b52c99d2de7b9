"""A title that does not arrive delays no run, whatever is wrong with it."""

import asyncio

import pytest

from tests.app.cli.run.process import run
from tests.support.harness import MODEL, config_for, write_config
from tests.support.installed import InstalledProgram, ServerThread
from tests.support.script import Answer, Failure, Hold, Reason, Text, answer

TITLES: dict[str, Answer] = {
    "never": answer(Hold()),
    "in mid word": answer(Text("Fix the"), Hold()),
    "an error": Failure(500),
    "thoughts": answer(Reason("a long thought")),
    "marked thoughts": answer(Text("<think>x</think>")),
    "a page": answer(Text("[/] many\n" * 200)),
}


@pytest.mark.parametrize("kind", TITLES)
def test_a_missing_title_does_not_delay_a_run(
    installed: InstalledProgram, scripted: ServerThread, kind: str
) -> None:
    """The response comes once the title was requested, and nothing else is awaited."""
    write_config(installed.home, config_for(scripted.server, small_model=MODEL))
    requested = asyncio.Event()

    def script(body: dict) -> Answer:
        if "You name conversations" in str(body["messages"][0]):
            requested.set()
            return TITLES[kind]
        return answer(Hold(gate=requested), Text("the answer"))

    scripted.server.always(script)
    done = run(installed, "go")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"the answer\n", b"")
