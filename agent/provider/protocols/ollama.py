"""Ollama's own chat API: for a provider whose ``api`` is ``ollama``.

The provider ``ollama`` itself speaks chat completions, which Ollama serves too.
"""

from collections.abc import Mapping

from agent.jsontypes import Json, JsonObject
from agent.provider.client import MediaContent, ModelRequest, ReasoningContent, TextContent
from agent.provider.framing import Framing, JsonLines
from agent.provider.protocols.exchanges import Answered, Asked, Returned, SentCall, exchanges
from agent.provider.protocols.ollama_decode import OllamaDecoder
from agent.provider.protocols.placeholders import Sight, unseen
from agent.provider.protocols.refusals import IMAGES, REFUSING, named
from agent.provider.protocols.tool_names import ToolNames

OPTIONAL = ("think", "tools", "options")


class OllamaWire:
    """The ``Wire`` of Ollama's chat at *provider*."""

    per_session: frozenset[str] = frozenset()

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def path(self, request: ModelRequest) -> str:
        _ = request
        return "/api/chat"

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
                        "parameters": tool.parameters,
                    },
                }
                for tool in request.tools
            ]
        if request.effort is not None or model.reasoning:
            body["think"] = request.effort != "none"
        options: JsonObject = {}
        if request.max_output is not None:
            options["num_predict"] = request.max_output
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if model.context_limit is not None:
            options["num_ctx"] = model.context_limit
        if options:
            body["options"] = options
        return {name: value for name, value in body.items() if name not in without}

    def headers(self, body: JsonObject) -> Mapping[str, str]:
        _ = body
        return {}

    def decoder(self, request: ModelRequest) -> OllamaDecoder:
        return OllamaDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        text = message.lower()
        if "image" in text and '"images"' in str(body).replace("'", '"'):
            return IMAGES
        if not REFUSING.search(text):
            return None
        if "think" in body and "thinking" in text:
            return "think"
        return named(text, (name for name in OPTIONAL if name in body))


def _messages(request: ModelRequest, names: ToolNames, sight: Sight) -> list[JsonObject]:
    system = "\n\n".join(text for text in request.system if text.strip())
    messages: list[JsonObject] = [{"role": "system", "content": system}] if system else []
    for exchange in exchanges(request.turns):
        match exchange:
            case Asked():
                messages.append({"role": "user", **_said(exchange.content, sight)})
            case Answered():
                messages.append(_answer(exchange, names))
            case Returned():
                for result in exchange.results:
                    said = _said((TextContent(result.text), *result.media), sight)
                    name = names.sent(result.sent.call.name)
                    messages.append({"role": "tool", "tool_name": name, **said})
    return messages


def _said(content: tuple[TextContent | MediaContent, ...], sight: Sight) -> JsonObject:
    texts: list[str] = []
    images: list[Json] = []
    for item in content:
        if isinstance(item, TextContent):
            texts.append(item.text)
        elif sight.sees(item) and item.mime.startswith("image/"):
            images.append(item.data)
        else:
            texts.append(unseen(item))
    said: JsonObject = {"content": "\n\n".join(texts)}
    return {**said, "images": images} if images else said


def _answer(exchange: Answered, names: ToolNames) -> JsonObject:
    texts = [c.text for c in exchange.content if isinstance(c, TextContent)]
    thoughts = [c.text for c in exchange.content if isinstance(c, ReasoningContent) and c.text]
    calls: list[Json] = [
        {"function": {"name": names.sent(c.call.name), "arguments": c.call.input}}
        for c in exchange.content
        if isinstance(c, SentCall)
    ]
    made: JsonObject = {"role": "assistant", "content": "\n\n".join(texts)}
    if thoughts:
        made["thinking"] = "\n\n".join(thoughts)
    return {**made, "tool_calls": calls} if calls else made
