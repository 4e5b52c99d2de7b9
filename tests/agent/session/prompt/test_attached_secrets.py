"""Files with secrets that a prompt mentions with ``@``."""

import asyncio
from pathlib import Path

import pytest

from agent.records.errors import ToolError
from agent.session.api import Mention
from tests.support.harness import open_harness
from tests.support.script import Text, answer


async def test_a_mentioned_secret_file_is_sent_after_approval(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        (harness.folder / ".env").write_text("TOKEN=abc\n")
        harness.server.script(answer(Text("Seen.")))
        session = await harness.session()
        sending = asyncio.ensure_future(
            harness.send(session, "read @.env", mentions=(Mention(".env"),))
        )
        request = await harness.permission_request()
        assert request.needs[0].need.permission == "read"
        assert not sending.done()
        assert await harness.messages(session) == []
        harness.answer(request, "once")
        await sending
        await harness.idle(session)
        assert "TOKEN=abc" in str(harness.server.requests[-1].body)


@pytest.mark.parametrize("name", [".env", "keys/server.pem"])
async def test_a_rejected_file_is_not_sent(tmp_path: Path, name: str) -> None:
    async with open_harness(tmp_path) as harness:
        file = harness.folder / name
        file.parent.mkdir(exist_ok=True)
        file.write_text("TOKEN=abc\n")
        session = await harness.session()
        sending = asyncio.ensure_future(harness.send(session, "x", mentions=(Mention(name),)))
        request = await harness.permission_request()
        harness.answer(request, "reject")
        with pytest.raises(ToolError, match="is not attached"):
            await sending
        assert await harness.messages(session) == []


async def test_a_rule_that_denies_reading_applies_to_mentioned_files(tmp_path: Path) -> None:
    async with open_harness(tmp_path, permission={"read": {"*.sql": "deny"}}) as harness:
        (harness.folder / "dump.sql").write_text("x")
        session = await harness.session()
        with pytest.raises(ToolError, match=r"dump\.sql is not attached: .*denied"):
            await harness.send(session, "x", mentions=(Mention("dump.sql"),))


async def test_a_plain_file_is_attached_without_asking(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        (harness.folder / "a.txt").write_text("one\n")
        harness.server.script(answer(Text("Seen.")))
        session = await harness.session()
        await harness.send(session, "read @a.txt", mentions=(Mention("a.txt"),))
        await harness.idle(session)
        assert "one" in str(harness.server.requests[-1].body)
