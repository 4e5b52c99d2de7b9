"""The Responses API over HTTP: address, key, repairs."""

import json

from agent.provider.catalog.catalog import Catalog
from agent.provider.client import AssistantTurn, ReasoningContent, TextContent, UserTurn
from agent.provider.client_pool import ClientPool
from tests.support.provider_events import drain
from tests.support.provider_requests import catalog, request
from tests.support.provider_server import Reply, Server

JSON = (("content-type", "application/json"),)


def good() -> Reply:
    events = [
        {"type": "response.output_text.delta", "output_index": 0, "delta": "ok"},
        {"type": "response.completed", "response": {"status": "completed"}},
    ]
    return Reply(("".join(f"data: {json.dumps(event)}\n\n" for event in events).encode(),))


def refusal(message: str) -> Reply:
    return Reply((json.dumps({"error": {"message": message}}).encode(),), 400, JSON)


def test_openai_uses_the_responses_api_but_not_at_a_user_base_url() -> None:
    env = {"OPENAI_API_KEY": "k"}
    assert Catalog({}, None, env).model("openai/gpt-5.4").api == "openai-responses"
    assert catalog("http://x/v1", "openai").model("openai/gpt-5.4").api == "openai-chat"
    chosen = catalog("http://x/v1", "openai", api="openai-responses")
    assert chosen.model("openai/gpt-5.4").api == "openai-responses"


def test_models_of_the_responses_api_only_are_listed_for_openai() -> None:
    models = Catalog({}, None, {"OPENAI_API_KEY": "k"}).models()
    codex = next(model for model in models if model.id == "gpt-5.3-codex")
    assert codex.context_limit


async def test_address_and_key(server: Server) -> None:
    server.replies = [good()]
    known = catalog(f"{server.url}/v1?v=2", "openai", api="openai-responses", api_key="sk-x")
    clients = ClientPool(known)
    model = known.model("openai/gpt-5.4")
    answer = await drain(clients.client_for(model).stream(request(model)))
    await clients.aclose()
    assert (answer.text, answer.finish, answer.usage) == ("ok", "stop", None)
    assert server.requests[0].path == "/v1/responses?v=2"
    assert server.requests[0].headers["authorization"] == "Bearer sk-x"


async def test_a_refused_summary_and_stale_reasoning_are_omitted(server: Server) -> None:
    server.replies = [
        refusal("Your organization must be verified to generate reasoning summaries."),
        refusal("The encrypted content for item rs_1 could not be verified."),
        good(),
        good(),
    ]
    known = catalog(server.url, "openai", api="openai-responses")
    clients = ClientPool(known)
    model = known.model("openai/gpt-5.4")
    thought = ReasoningContent("", opaque={"id": "rs_1", "encrypted_content": "x"})
    user = UserTurn((TextContent("hi"),))
    turn = AssistantTurn((thought, TextContent("a")), model.full_name)
    for session in ("one", "two"):
        model_request = request(model, user, turn, user, session_id=session)
        assert (await drain(clients.client_for(model).stream(model_request))).text == "ok"
    await clients.aclose()
    assert ["reasoning" in seen.json for seen in server.requests] == [True, False, False, False]
    assert ["rs_1" in str(seen.json) for seen in server.requests] == [True, True, False, True]
