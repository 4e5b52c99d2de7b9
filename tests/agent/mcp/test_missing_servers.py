"""Servers that fail or are slow are named: in notices and to the model."""

import json
import sys
from pathlib import Path

from agent.mcp.transports import repaired_result
from agent.records.events import Notice
from agent.runtime.headless import HeadlessRun
from agent.session.api import PromptInput
from tests.support.harness import open_harness
from tests.support.script import Text, answer

BROKEN = {"type": "local", "command": [sys.executable, "-c", "raise SystemExit(3)"]}
HANGING = {
    "type": "local",
    "command": [sys.executable, "-c", "import time; time.sleep(60)"],
    "timeout": 300,
}


async def test_servers_that_fail_are_named_in_notices_and_to_the_model(tmp_path: Path) -> None:
    servers = {"broken": BROKEN, "hanging": HANGING, "off": {**BROKEN, "enabled": False}}
    async with open_harness(tmp_path, mcp=servers) as harness:
        harness.server.script(answer(Text("Done.")))
        run = HeadlessRun(harness.runtime)
        await run.wait_for_servers()
        session = await harness.session()
        said = [
            e.message
            async for e in run.run(session, PromptInput(text="go"))
            if isinstance(e, Notice)
        ]
        assert [sentence.split()[3] for sentence in said] == ["broken", "hanging"]
        sent = json.dumps(harness.server.requests[0].body["messages"])
        assert "so its tools are missing" in sent
        assert "broken" in sent
        assert harness.runtime.mcp.missing() == ()  # each is named once


def test_an_unknown_block_of_a_result_keeps_the_known_ones() -> None:
    known = {"type": "text", "text": "KNOWN"}
    given = {"content": [known, {"type": "hologram", "data": 1}, "x", {"type": "text"}]}
    made = repaired_result(given, [])
    assert isinstance(made, dict)
    assert [block["text"] for block in made["content"]] == [
        "KNOWN",
        "[a hologram block, omitted]",
        "[a content block, omitted]",
        "[a text block, omitted]",
    ]
    prompt = {"messages": [{"role": "user", "content": {"type": "hologram"}}]}
    found = repaired_result(prompt, [])
    assert isinstance(found, dict)
    assert found["messages"][0]["content"]["text"] == "[a hologram block, omitted]"
