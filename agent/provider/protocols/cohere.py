"""Cohere's chat API, version 2."""

from collections.abc import Mapping

from agent.jsontypes import Json, JsonObject
from agent.provider.client import MediaContent, ModelRequest, TextContent
from agent.provider.framing import Framing, JsonLines
from agent.provider.protocols.cohere_decode import CohereDecoder
from agent.provider.protocols.exchanges import Answered, Asked, Returned, SentCall, exchanges
from agent.provider.protocols.placeholders import Sight, unseen
from agent.provider.protocols.refusals import IMAGES, REFUSING, named
from agent.provider.protocols.tool_names import ToolNames
from agent.provider.protocols.wire_json import arguments_of

OPTIONAL = ("thinking", "temperature", "max_tokens")


class CohereWire:
    """The ``Wire`` of Cohere's chat at *provider*."""

    per_session: frozenset[str] = frozenset()

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def path(self, request: ModelRequest) -> str:
        _ = request
        return "/v2/chat"

    def framing(self) -> Framing:
        return JsonLines()

    def body(self, request: ModelRequest, without: frozenset[str]) -> JsonObject:
        model = request.model
        names = ToolNames(request.tools)
        body: JsonObject = {
            "model": model.wire_id or model.id,
            "messages": list[Json](_messages(request, names, Sight.of(model, without))),
            "stream": True,
        }
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": names.sent(tool.name),
                        "description": tool.description,
                        "parameters": {"type": "object", "properties": {}} | tool.parameters,
                    },
                }
                for tool in request.tools
            ]
        if request.max_output is not None:
            body["max_tokens"] = request.max_output
        if request.temperature is not None and model.temperature:
            body["temperature"] = request.temperature
        if model.reasoning and request.effort is not None:
            body["thinking"] = {"type": "disabled" if request.effort == "none" else "enabled"}
        return {name: value for name, value in body.items() if name not in without}

    def headers(self, body: JsonObject) -> Mapping[str, str]:
        _ = body
        return {}

    def decoder(self, request: ModelRequest) -> CohereDecoder:
        return CohereDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        text = message.lower()
        if "image" in text and "image_url" in str(body.get("messages")):
            return IMAGES
        if not REFUSING.search(text):
            return None
        return named(text, (name for name in OPTIONAL if name in body))


def _messages(request: ModelRequest, names: ToolNames, sight: Sight) -> list[JsonObject]:
    system = "\n\n".join(text for text in request.system if text.strip())
    messages: list[JsonObject] = [{"role": "system", "content": system}] if system else []
    for exchange in exchanges(request.turns):
        match exchange:
            case Asked():
                parts: list[Json] = [_said(content, sight) for content in exchange.content]
                messages.append({"role": "user", "content": parts})
            case Answered():
                messages.append(_answer(exchange, names))
            case Returned():
                for result in exchange.results:
                    sent = result.sent.sent_id
                    messages.append({"role": "tool", "tool_call_id": sent, "content": result.text})
    return messages


def _said(content: TextContent | MediaContent, sight: Sight) -> JsonObject:
    if isinstance(content, TextContent):
        return {"type": "text", "text": content.text}
    if not sight.sees(content) or not content.mime.startswith("image/"):
        return {"type": "text", "text": unseen(content)}
    url = f"data:{content.mime};base64,{content.data}"
    return {"type": "image_url", "image_url": {"url": url}}


def _answer(exchange: Answered, names: ToolNames) -> JsonObject:
    texts = [c.text for c in exchange.content if isinstance(c, TextContent)]
    calls: list[Json] = [
        {
            "id": c.sent_id,
            "type": "function",
            "function": {"name": names.sent(c.call.name), "arguments": arguments_of(c.call.input)},
        }
        for c in exchange.content
        if isinstance(c, SentCall)
    ]
    made: JsonObject = {"role": "assistant"}
    if calls:
        # With calls the API takes words only as the plan behind them.
        return {**made, "tool_calls": calls, **({"tool_plan": "\n\n".join(texts)} if texts else {})}
    return {**made, "content": "\n\n".join(texts)}
