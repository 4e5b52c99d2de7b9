"""Amazon Bedrock's Converse API, with a Bedrock API key as bearer token."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from agent.jsontypes import Json, JsonObject
from agent.provider.client import MediaContent, ModelRequest, ReasoningContent, TextContent
from agent.provider.framing import AwsFrames, Framing
from agent.provider.protocols.bedrock_decode import BedrockDecoder
from agent.provider.protocols.exchanges import Answered, Asked, Returned, SentCall, exchanges
from agent.provider.protocols.placeholders import Sight, unseen
from agent.provider.protocols.refusals import IMAGES, REASONING, REFUSING
from agent.provider.protocols.tool_names import ToolNames
from agent.provider.protocols.wire_json import object_in

FORMATS = {"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}


class BedrockWire:
    """The ``Wire`` of Bedrock's Converse at *provider*."""

    per_session: frozenset[str] = frozenset({REASONING})

    def __init__(self, provider: str) -> None:
        self._provider = provider

    def path(self, request: ModelRequest) -> str:
        name = request.model.wire_id or request.model.id
        return f"/model/{quote(name, safe='')}/converse-stream"

    def framing(self) -> Framing:
        return AwsFrames()

    def body(self, request: ModelRequest, without: frozenset[str]) -> JsonObject:
        names = ToolNames(request.tools)
        body: JsonObject = {"messages": list[Json](_messages(request, names, without))}
        system: list[Json] = [{"text": text} for text in request.system if text.strip()]
        if system:
            body["system"] = system
        inference: JsonObject = {}
        if request.max_output is not None:
            inference["maxTokens"] = request.max_output
        if request.temperature is not None and request.model.temperature:
            inference["temperature"] = request.temperature
        inference = {name: value for name, value in inference.items() if name not in without}
        if inference:
            body["inferenceConfig"] = inference
        if request.tools:
            body["toolConfig"] = {
                "tools": [
                    {
                        "toolSpec": {
                            "name": names.sent(tool.name),
                            "description": tool.description or tool.name,
                            "inputSchema": {
                                "json": {"type": "object", "properties": {}} | tool.parameters
                            },
                        }
                    }
                    for tool in request.tools
                ]
            }
        return body

    def headers(self, body: JsonObject) -> Mapping[str, str]:
        _ = body
        return {"accept": "application/vnd.amazon.eventstream"}

    def decoder(self, request: ModelRequest) -> BedrockDecoder:
        return BedrockDecoder(self._provider, ToolNames(request.tools))

    def refused(self, body: JsonObject, message: str) -> str | None:
        text = message.lower()
        said = str(body.get("messages"))
        if "reasoningContent" in said and re.search(r"signature|thinking|reasoning", text):
            return REASONING
        if "'image'" in said and "image" in text:
            return IMAGES
        inference = object_in(body, "inferenceConfig")
        if "temperature" in inference and "temperature" in text and REFUSING.search(text):
            return "temperature"
        return None


def _messages(request: ModelRequest, names: ToolNames, without: frozenset[str]) -> list[JsonObject]:
    sight = Sight.of(request.model, without)
    messages: list[JsonObject] = []
    for exchange in exchanges(request.turns):
        match exchange:
            case Asked():
                role, blocks = "user", [_said(content, sight) for content in exchange.content]
            case Answered():
                own = exchange.model in ("", request.model.full_name) and REASONING not in without
                role, blocks = "assistant", _answer(exchange, names, own=own)
            case Returned():
                role, blocks = "user", _results(exchange, sight)
        if messages and messages[-1]["role"] == role:
            held = messages[-1]["content"]
            assert isinstance(held, list)  # noqa: S101 - made just below
            held += blocks
        else:
            messages.append({"role": role, "content": list[Json](blocks)})
    return messages


def _said(content: TextContent | MediaContent, sight: Sight) -> JsonObject:
    if isinstance(content, TextContent):
        return {"text": content.text}
    if not sight.sees(content) or content.mime not in FORMATS:
        return {"text": unseen(content)}
    return {"image": {"format": FORMATS[content.mime], "source": {"bytes": content.data}}}


def _answer(exchange: Answered, names: ToolNames, *, own: bool) -> list[JsonObject]:
    blocks: list[JsonObject] = []
    for content in exchange.content:
        match content:
            case TextContent():
                blocks.append({"text": content.text})
            case ReasoningContent():
                if own and (thought := _thought(content)):
                    blocks.append({"reasoningContent": thought})
            case SentCall(call=call, sent_id=sent_id):
                name = names.sent(call.name)
                use: JsonObject = {"toolUseId": sent_id, "name": name, "input": call.input}
                blocks.append({"toolUse": use})
    return blocks


def _thought(content: ReasoningContent) -> JsonObject:
    opaque = content.opaque or {}
    if sealed := opaque.get("redacted"):
        return {"redactedContent": sealed}
    if signature := opaque.get("signature"):
        return {"reasoningText": {"text": content.text, "signature": signature}}
    return {}


def _results(exchange: Returned, sight: Sight) -> list[JsonObject]:
    blocks: list[JsonObject] = []
    for result in exchange.results:
        said: list[Json] = [{"text": result.text}]
        said += [_said(media, sight) for media in result.media]
        status = "error" if result.is_error else "success"
        shown: JsonObject = {"toolUseId": result.sent.sent_id, "content": said, "status": status}
        blocks.append({"toolResult": shown})
    return blocks
