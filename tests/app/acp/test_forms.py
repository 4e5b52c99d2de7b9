"""The model's questions as forms of the client (``elicitation/create``)."""

import json
import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.schema import (
    AcceptElicitationResponse,
    CancelElicitationResponse,
    ClientCapabilities,
    DeclineElicitationResponse,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
)

from tests.agent.mcp.mcp_harness import SERVERS
from tests.app.acp.conftest import Editor, Home
from tests.support.script import Call, Text, answer

FORMS = ClientCapabilities(elicitation=ElicitationCapabilities(form=ElicitationFormCapabilities()))
WAYS = [{"label": "left"}, {"label": "right", "description": "the long way"}]


@dataclass
class Forms(Editor):
    """A client that shows forms. *says* is the response to each."""

    says: Any = None
    shown: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    async def create_elicitation(self, message: str, mode: Any, **_: Any) -> Any:
        form = mode.requested_schema.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.shown.append((message, form))
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


def accepted(**content: Any) -> AcceptElicitationResponse:
    return AcceptElicitationResponse(action="accept", content=content)


async def ask(home: Home, client: Forms, **question: Any) -> str:
    """Return the result of the model's question, empty if the turn ended with it."""
    async with home.desk(client, FORMS) as desk:
        session = await desk.new()
        call = Call("question", {"questions": [{"question": "Which way?", **question}]})
        desk.server.script(answer(call), answer(Text("on")))
        await desk.prompt(session.session_id, "go")
        last = desk.server.requests[-1].body["messages"][-1]
        return str(last["content"]) if last["role"] == "tool" else ""


async def test_a_form_has_the_options_and_a_field_for_text(home: Home) -> None:
    client = Forms(says=accepted(choice="1", text="slowly"))
    result = await ask(home, client, options=WAYS, header="Way")
    assert "right" in result
    assert "slowly" in result
    message, form = client.shown[0]
    choice = form["properties"]["choice"]
    assert (message, choice["type"], choice["title"]) == ("Which way?", "string", "Way")
    assert [(o["const"], o["title"]) for o in choice["oneOf"]] == [("0", "left"), ("1", "right")]
    assert choice["oneOf"][1]["description"] == "the long way"
    assert form["properties"]["text"]["type"] == "string"
    assert client.permission_requests == []


async def test_several_options_can_be_chosen(home: Home) -> None:
    client = Forms(says=accepted(choice=["0", "1", "7"]))
    result = await ask(home, client, options=WAYS, multiple=True)
    assert "left" in result
    assert "right" in result
    assert client.shown[0][1]["properties"]["choice"]["type"] == "array"


async def test_a_question_without_options_is_asked(home: Home) -> None:
    client = Forms(says=accepted(text="north"))
    assert "north" in await ask(home, client)
    assert client.shown[0][1]["required"] == ["text"]


@pytest.mark.parametrize(
    "says",
    [
        DeclineElicitationResponse(action="decline"),
        CancelElicitationResponse(action="cancel"),
        accepted(),
        accepted(choice="9", text=" "),
    ],
)
async def test_a_closed_form_is_a_dismissal(home: Home, says: Any) -> None:
    assert await ask(home, Forms(says=says), options=WAYS) == ""


async def test_a_client_that_fails_to_show_a_form_gets_buttons(home: Home) -> None:
    fault = RequestError.method_not_found("elicitation/create")
    client = Forms(says=fault, answers=["0"])
    assert "left" in await ask(home, client, options=WAYS)
    assert client.permission_requests[0][1] == ["0", "1", "skip"]


async def from_server(home: Home, client: Editor, *, forms: bool, fault: str = "asks") -> str:
    """Return the answer that a server gets to its form."""
    server = {"type": "local", "command": [sys.executable, str(SERVERS / "raw.py"), fault]}
    home.settings(mcp={fault: server}, permission={f"{fault}_*": "allow"})
    async with home.desk(client, FORMS if forms else None) as desk:
        session = await desk.new()
        desk.server.script(answer(Call(f"{fault}_good", {})), answer(Text("on")))
        await desk.prompt(session.session_id, "go")
        return str(desk.server.requests[-1].body["messages"][-1]["content"])


async def test_a_form_of_a_server_is_passed_on(home: Home) -> None:
    content = {"wood": "oak", "legs": 4, "tools": ["saw"]}
    client = Forms(says=accepted(**content))
    result = await from_server(home, client, forms=True)
    assert json.dumps({"action": "accept", "content": content}) in result
    message, form = client.shown[0]
    assert message == "The MCP server asks asks: What shall it be?"
    assert form["required"] == ["wood", "legs"]
    fields = form["properties"]
    assert fields["wood"]["oneOf"] == [
        {"const": "oak", "title": "oak"}, {"const": "pine", "title": "pine"}
    ]  # fmt: skip
    assert (fields["legs"]["type"], fields["legs"]["description"]) == ("integer", "How many legs")
    assert (fields["name"]["default"], fields["painted"]["type"]) == ("Bob", "boolean")
    assert fields["tools"]["items"]["anyOf"][0] == {"const": "saw", "title": "Saw"}
    assert (fields["mail"]["format"], fields["mail"]["maxLength"]) == ("email", 12)


async def test_values_that_do_not_fit_are_shown_the_form_again(home: Home) -> None:
    client = Forms(says=accepted(wood="fir"))
    assert '"action": "cancel"' in await from_server(home, client, forms=True)
    assert len(client.shown) == 3
    assert client.shown[1][0].endswith("Wood: choose from oak, pine\nlegs: required")


@pytest.mark.parametrize(
    ("says", "action"),
    [
        (DeclineElicitationResponse(action="decline"), "decline"),
        (CancelElicitationResponse(action="cancel"), "cancel"),
    ],
)
async def test_a_server_is_told_whether_a_form_was_declined(
    home: Home, says: Any, action: str
) -> None:
    assert f'"action": "{action}"' in await from_server(home, Forms(says=says), forms=True)


async def test_buttons_ask_for_choices_only(home: Home) -> None:
    """A client without forms is asked for one choice after the other, and for nothing else."""
    assert '"action": "decline"' in await from_server(home, Editor(), forms=False)
    client = Editor(answers=["1", "skip"])
    result = await from_server(home, client, forms=False, fault="chooses")
    assert '{"action": "accept", "content": {"wood": "pine"}}' in result
    assert [buttons for _, buttons in client.permission_requests] == [["0", "1", "skip"]] * 2
    skipped = Editor(answers=["skip"])
    assert '"cancel"' in await from_server(home, skipped, forms=False, fault="chooses")
