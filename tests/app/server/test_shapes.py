"""Answers and events have the shapes that were recorded from opencode itself."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.app.server.conftest import Served
from tests.support.script import Call, Finish, Reason, Text, answer

RECORDED = json.loads(Path(__file__).with_name("recorded_opencode.json").read_text("utf-8"))


def missing(expected: Any, found: Any, place: str = "") -> list[str]:
    """Return the places where *found* lacks a key of *expected* or has another type."""
    if isinstance(expected, dict):
        if not isinstance(found, dict):
            return [f"{place}: {type(found).__name__}"]
        wrong: list[str] = []
        for key, value in expected.items():
            if key in found:
                wrong += missing(value, found[key], f"{place}.{key}")
            elif key not in OPTIONAL:
                wrong.append(f"{place}.{key}: missing")
        return wrong
    if isinstance(expected, list):
        if not isinstance(found, list):
            return [f"{place}: {type(found).__name__}"]
        return missing(expected[0], found[0], f"{place}[]") if expected and found else []
    numbers = (int, float)
    if isinstance(expected, numbers) and isinstance(found, numbers):
        return []
    return [] if type(expected) is type(found) else [f"{place}: {type(found).__name__}"]


OPTIONAL = {
    "api",
    "apiKey",
    "branch",
    "color",
    "default_branch",
    "duration",
    "family",
    "input_limit",
    "interleaved",
    "model",
    "path",
    "release_date",
    "snapshot",
    "source",
    "summary",
    "synthetic",
    "temperature",
    "time",
    "topP",
    "vcs",
    "write",
}
"""Keys that opencode's own description calls optional, or that mean nothing here."""


def event_key(event: dict[str, Any]) -> str:
    name, properties = event["type"], event["properties"]
    if name == "message.part.updated":
        part = properties["part"]
        return f"{name}:{part['type']}" + (
            f":{part['state']['status']}" if part["type"] == "tool" else ""
        )
    if name == "message.updated":
        info = properties["info"]
        return f"{name}:{info['role']}" + (":done" if info.get("finish") else "")
    return f"{name}:{properties['status']['type']}" if name == "session.status" else name


async def test_events_of_a_turn_with_a_command(served: Served) -> None:
    served.model.script(
        answer(Reason("Hm."), Call("bash", {"command": "echo hi"}), Finish("tool_calls")),
        answer(Text("Done."), Finish("stop")),
    )
    session = await served.session()
    async with served.stream() as stream:
        await served.send(session, "go")
        asked = await stream.next("permission.asked")
        await served.call("POST", f"/permission/{asked['id']}/reply", {"reply": "once"})
        await stream.next("session.idle")
    seen = {event_key(event): event for event in stream.events}
    expected = {
        "server.connected",
        "message.updated:user",
        "message.updated:assistant",
        "message.updated:assistant:done",
        "message.part.updated:text",
        "message.part.updated:tool:pending",
        "message.part.updated:tool:running",
        "message.part.updated:tool:completed",
        "message.part.updated:step-finish",
        "message.part.delta",
        "permission.asked",
        "permission.replied",
        "session.updated",
        "session.status:busy",
        "session.status:idle",
        "session.idle",
    }
    assert expected <= set(seen)
    for key in expected:
        assert missing(RECORDED["events"][key], seen[key]) == [], key


async def test_events_of_an_interrupted_turn(served: Served) -> None:
    served.model.script(answer(Call("bash", {"command": "echo hi"}), Finish("tool_calls")))
    session = await served.session()
    async with served.stream() as stream:
        await served.send(session, "go")
        await stream.next("permission.asked")
        await served.call("POST", f"/session/{session}/abort")
        await stream.next("session.idle")
    errors = [event for event in stream.events if event["type"] == "session.error"]
    assert [missing(RECORDED["events"]["session.error"], one) for one in errors] == [[]]
    assert errors[0]["properties"]["error"]["name"] == "MessageAbortedError"


QUESTIONS = {
    "questions": [
        {
            "question": "Which color?",
            "header": "Color",
            "options": [{"label": "Red", "description": "warm"}],
        },
        {
            "question": "Which sizes?",
            "header": "Size",
            "multiple": True,
            "options": [{"label": "S", "description": ""}, {"label": "L", "description": ""}],
        },
    ]
}


async def test_events_of_questions(served: Served) -> None:
    served.model.script(
        answer(Call("question", QUESTIONS), Finish("tool_calls")),
        answer(Call("question", QUESTIONS), Finish("tool_calls")),
        answer(Text("Done."), Finish("stop")),
    )
    session = await served.session()
    async with served.stream() as stream:
        await served.send(session, "go")
        for number, given in enumerate(([["Red"]], [["S", "L"]]), 1):
            asked = await stream.next("question.asked", number)
            await served.call("POST", f"/question/{asked['id']}/reply", {"answers": given})
        last = await stream.next("question.asked", 3)
        await served.call("POST", f"/question/{last['id']}/reject", {})
        await stream.next("session.idle")
    seen = {event["type"]: event for event in stream.events}
    for key in ("question.asked", "question.replied", "question.rejected"):
        assert missing(RECORDED["events"][key], seen[key]) == [], key
    key = "message.part.updated:tool:completed:question"
    done = [
        event
        for event in stream.events
        if event_key(event) == "message.part.updated:tool:completed"
    ]
    assert missing(RECORDED["events"][key], done[0]) == []
    part = done[0]["properties"]["part"]
    assert part["state"]["metadata"]["answers"] == [["Red"], ["S", "L"]]
    assert stream.of("question.asked")[0]["tool"] == {
        "messageID": part["messageID"],
        "callID": part["callID"],
    }


async def test_events_of_changed_files(served: Served) -> None:
    served.model.script(
        answer(Call("write", {"file_path": "b.txt", "content": "new\n"}), Finish("tool_calls")),
        answer(Text("Done."), Finish("stop")),
    )
    session = await served.session()
    async with served.stream() as stream:
        await served.send(session, "go")
        asked = await stream.next("permission.asked")
        await served.call("POST", f"/permission/{asked['id']}/reply", {"reply": "once"})
        await stream.until(lambda found: bool(summaries(found.events)))
    (summed,) = summaries(stream.events)
    assert missing(RECORDED["events"]["message.updated:user:summary"], summed) == []
    listed = await served.call("GET", f"/session/{session}/message")
    assert listed[0]["info"] == summed["properties"]["info"]
    watched = stream.of("file.watcher.updated")
    assert watched == [{"file": str(served.project / "b.txt"), "event": "add"}]
    for key in ("file.watcher.updated", "file.edited"):
        seen = next(event for event in stream.events if event["type"] == key)
        assert missing(RECORDED["events"][key], seen) == []


def summaries(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        event
        for event in events
        if event["type"] == "message.updated" and "summary" in event["properties"]["info"]
    ]


READS = sorted(
    name
    for name in RECORDED["routes"]
    if name.startswith("GET ") and "{" not in name and name not in {"GET /permission", "GET /skill"}
)


@pytest.mark.parametrize("name", READS)
async def test_answers_of_a_folder(served: Served, name: str) -> None:
    (served.project / "a.txt").write_text("hi\n")
    await served.session()
    path = name.removeprefix("GET ")
    queries = {"/find/file": "?query=a", "/file": "?path=.", "/file/content": "?path=a.txt"}
    found = await served.call("GET", path + queries.get(path, ""))
    expected = RECORDED["routes"][name]
    for key in ("all", "providers"):  # keyed by models that differ
        if isinstance(expected, dict) and key in expected:
            models = expected[key][0]["models"]
            theirs, ours = next(iter(models.values())), next(iter(found[key][0]["models"].values()))
            wrong = missing(theirs | {"variants": {}}, ours)
            assert wrong in ([], [".limit.input: missing"])  # optional
            expected, found = dict(expected), dict(found)
            del expected[key], found[key]
            expected.pop("default"), found.pop("default")
    assert missing(expected, found) == []


async def test_messages_after_a_turn(served: Served) -> None:
    served.model.script(answer(Text("Hello."), Finish("stop")))
    session = await served.session()
    body = {"parts": [{"type": "text", "text": "hi"}]}
    last = await served.call("POST", f"/session/{session}/message", body)
    assert (
        missing(RECORDED["routes"]["POST /session/{session}/message"]["info"], last["info"]) == []
    )
    listed = await served.call("GET", f"/session/{session}/message")
    expected = RECORDED["routes"]["GET /session/{session}/message"]
    assert [one["info"]["role"] for one in listed] == ["user", "assistant"]
    assert missing(expected[0]["info"], listed[0]["info"]) == []
    assert missing(expected[1]["info"], listed[1]["info"]) == []
    assert listed[1] == last
    one = await served.call("GET", f"/session/{session}/message/{last['info']['id']}")
    assert one == last


async def test_every_recorded_route_exists(served: Served) -> None:
    described = await served.call("GET", "/doc")
    ours = {
        f"{method.upper()} {path}"
        for path, methods in described["paths"].items()
        for method in methods
    }
    settings = {"PATCH /config"}  # clients do not change the settings here
    assert set(RECORDED["routes"]) - settings - {"GET /global/health"} <= ours


async def test_answers_are_described(served: Served) -> None:
    described = await served.call("GET", "/doc")
    schemas = described["components"]["schemas"]
    assert {"SessionAnswer", "MessageAnswer", "PermissionAnswer", "PromptBody"} <= set(schemas)
    assert "sessionID" in schemas["PermissionAnswer"]["required"]
    listed = described["paths"]["/session"]["get"]["responses"]["200"]
    assert listed["content"]["application/json"]["schema"] == {
        "type": "array",
        "items": {"$ref": "#/components/schemas/SessionAnswer"},
    }
    assert set(described["paths"]["/session/{session}/prompt_async"]["post"]["responses"]) == {
        "204",
        "default",
    }
    for name in re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(described)):
        assert name in schemas
