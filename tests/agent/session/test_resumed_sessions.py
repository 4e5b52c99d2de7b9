"""Sessions that a new instance of the program continues."""

import json
from pathlib import Path

from tests.support.harness import Harness, open_harness
from tests.support.script import Call, Reason, Text, Tokens, answer

FREE = {"permission": {"bash": "allow", "edit": "allow"}}
DONE = answer(Text("done"), Tokens(5_000, 10))


async def test_a_session_with_broken_text_is_resumed(tmp_path: Path) -> None:
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.script(
            answer(Call("bash", {"command": r'printf "\377\376abc\360\237"'})),
            answer(Call("write", r'{"file_path": "w", "content": "half \ud83d"}')),
            DONE,
        )
        session = await harness.session()
        await harness.turn(session, "go")
    async with open_harness(tmp_path, **FREE) as harness:
        assert await resume_and_send(harness, session.id)


async def resume_and_send(harness: Harness, session_id: str) -> bool:
    """Check that a resumed session accepts one more prompt and sends valid UTF-8."""
    session = await harness.runtime.store.session(session_id)
    harness.server.script(DONE)
    assert (await harness.turn(session, "still there?")).outcome == "completed"
    return (
        "abc" in json.dumps(harness.server.requests[-1].body, ensure_ascii=False).encode().decode()
    )


async def test_same_ids_and_reasoning_outlive_the_program(tmp_path: Path) -> None:
    """Three steps use the same call id, each with its reasoning; after a resume every call has its
    own result, and its reasoning under the original name."""
    steps = [
        answer(Reason(f"thought {n}"), Call("bash", {"command": f"echo N{n}"}, id="call_0"))
        for n in range(3)
    ]
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.script(*steps, DONE)
        session = await harness.session()
        assert (await harness.turn(session, "go")).outcome == "completed"
    async with open_harness(tmp_path, **FREE) as harness:
        harness.server.script(DONE)
        assert (await harness.turn(session, "and on")).outcome == "completed"
        sent = harness.server.requests[0].body["messages"]
        asked = [m for m in sent if m.get("tool_calls")]
        results = {m["tool_call_id"]: m["content"] for m in sent if m["role"] == "tool"}
        assert [results[m["tool_calls"][0]["id"]] for m in asked] == ["N0", "N1", "N2"]
        assert [m["reasoning_content"] for m in asked] == [f"thought {n}" for n in range(3)]
