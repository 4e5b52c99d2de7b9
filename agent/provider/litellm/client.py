"""A ``ModelClient`` that sends its requests through litellm."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from math import inf

from agent.provider.client import (
    AssistantTurn,
    ModelRequest,
    ReasoningContent,
    StreamError,
    StreamEvent,
    TextContent,
    ToolCallContent,
    ToolNames,
)
from agent.provider.litellm.process import CallFailed, LitellmProcess
from agent.provider.litellm.route import Route
from agent.provider.protocols.openai_chat import ChatClient, chat_messages
from agent.provider.protocols.openai_chat_decode import ChatDecoder
from agent.provider.protocols.sent_history import encode_request
from agent.provider.quirks.reasoning_replay import THOUGHT_SIGNATURE
from agent.provider.quirks.table import finish_body, prepare_request
from agent.provider.quirks.target import refused_effort
from agent.provider.transport.errors import (
    connection_error,
    error_from_event,
    error_from_response,
)
from agent.provider.transport.http import StreamLimits
from agent.provider.transport.wire_json import get_object, get_objects, get_text
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.json import Json, JsonObject
from agent.redact import MIN_LENGTH

SIGNATURE_SEPARATOR = "__thought__"
"""The text that litellm puts between a call's id and Gemini's thought signature."""


class LitellmDecoder(ChatDecoder):
    """A chat decoder that also takes signed thinking blocks and Gemini's signatures."""

    def feed_chunk(self, chunk: JsonObject) -> list[StreamEvent]:
        """Return the events of one chunk."""
        counted = _without_guessed_usage(chunk)
        events: list[StreamEvent] = []
        # Gemini's parts come as several choices, all of which belong to the first.
        for choice in get_objects(counted, "choices") or [{}]:
            self._take_thinking_blocks(get_object(choice, "delta"), events)
            if not self.done:
                single: JsonObject = {**counted, "choices": [choice] if choice else []}
                events += self._decode_chunk(single)
                self._end_signed_text(get_object(choice, "delta"), events)
        return events

    def fail(self, error: ProviderError) -> list[StreamEvent]:
        """Return the events for the end by *error*.

        A finish reason makes the response complete only if the connection broke; any other error
        still counts.
        """
        if self.done or error.kind is ProviderErrorKind.NETWORK:
            return self.close(error)
        return self._fail(error)

    def _take_thinking_blocks(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        """End thinking by its signature; a redacted block is a reasoning part of its own."""
        for block in get_objects(delta, "thinking_blocks"):
            if redacted := get_text(block, "data"):
                self._end_part(events)
                self._part.end(events, {"redacted": redacted})
            elif signature := get_text(block, "signature"):
                if text := get_text(block, "thinking"):
                    self._add_reasoning("reasoning_content", text, events)
                    delta.pop("reasoning_content", None)
                self._part.end(events, {"signature": signature})

    def _end_signed_text(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        """End a text by Gemini's signature of it."""
        signatures = get_object(delta, "provider_specific_fields").get("thought_signatures")
        if isinstance(signatures, list) and signatures and not delta.get("tool_calls"):
            self._part.end_text(events, {THOUGHT_SIGNATURE: signatures[0]})

    def _take_calls(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        calls = get_objects(delta, "tool_calls")
        for call in calls:
            _strip_signature(call)
        super()._take_calls(delta, events)
        for call in calls:
            signature = get_text(get_object(call, "provider_specific_fields"), "thought_signature")
            call_id = get_text(call, "id")
            if signature and call_id:
                self._calls.attach(call_id, {THOUGHT_SIGNATURE: signature})


def _strip_signature(call: JsonObject) -> None:
    call_id, separator, _ = get_text(call, "id").partition(SIGNATURE_SEPARATOR)
    if separator:
        call["id"] = call_id


def _without_guessed_usage(chunk: JsonObject) -> JsonObject:
    """Return *chunk* without the reasoning tokens of Anthropic's models.

    litellm counts them with its own tokenizer; Anthropic's usage does not report them.
    """
    usage = get_object(chunk, "usage")
    if "cache_creation_token_details" not in get_object(usage, "prompt_tokens_details"):
        return chunk
    plain: JsonObject = {**usage, "completion_tokens_details": {}}
    return {**chunk, "usage": plain}


def call_error(provider: str, report: JsonObject, secret: str = "") -> ProviderError:
    """Return the error of a failed call from the worker's *report*, with *secret* hidden."""
    status, headers = report.get("status"), get_object(report, "headers")
    known = {name: value for name, value in headers.items() if isinstance(value, str)}
    body = _hide(get_text(report, "body"), secret)
    data: Json = report.get("data")
    message = _hide(get_text(report, "words"), secret)
    if body and isinstance(status, int):
        return error_from_response(provider, status, known, body.encode())
    if data:
        return error_from_event(provider, data)
    if report.get("broken"):
        return connection_error(provider, message or "the connection was lost")
    if isinstance(status, int) and 400 <= status < 600:
        return error_from_response(provider, status, known, message.encode())
    return ProviderError(
        ProviderErrorKind.INVALID_REQUEST,
        f"litellm could not reach {provider}: {get_text(report, 'kind')}: {message}"[:600],
    )


def _hide(text: str, secret: str) -> str:
    return text.replace(secret, "***") if len(secret) >= MIN_LENGTH else text


LITELLM_TIMEOUT = 86_400
"""Seconds, in effect unlimited: ``StreamLimits`` apply here, as for every other client."""

ADDED_PATHS = {"anthropic": "/v1", "ollama_chat": "/v1", "ollama": "/v1"}
"""The end of a base URL that litellm appends by itself."""


class LitellmClient:
    """The client of one provider by *route*, through the litellm worker *process*."""

    def __init__(
        self, route: Route, process: LitellmProcess, limits: StreamLimits | None = None
    ) -> None:
        self._route = route
        self._process = process
        self._limits = limits or StreamLimits()
        self._without_effort: set[str] = set()
        """Models whose server has refused a reasoning effort."""

    def refuses_effort(self, model_id: str) -> bool:
        """Return whether the server has refused a reasoning effort for the model."""
        return model_id in self._without_effort

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        """Stream the response; the last event is ``StepFinish`` or ``StreamError``. A reasoning
        effort that the server refuses is left out from then on."""
        model_id = request.model.id
        while True:
            if self.refuses_effort(model_id):
                request = replace(request, effort=None)
            async with aclosing(self._attempt(request)) as events:
                async for event in events:
                    if self._is_refused_effort(event, request):
                        self._without_effort.add(model_id)
                        break
                    yield event
                else:
                    return

    def _is_refused_effort(self, event: StreamEvent, request: ModelRequest) -> bool:
        if not isinstance(event, StreamError) or request.effort is None:
            return False
        if event.error.kind is not ProviderErrorKind.INVALID_REQUEST:
            return False
        body = completion_arguments(request, self._route)
        text = event.error.message.lower()
        return refused_effort(body, text) is not None

    async def _attempt(self, request: ModelRequest) -> AsyncGenerator[StreamEvent, None]:
        decoder = LitellmDecoder(self._route.provider, ToolNames(request.tools))
        failed: ProviderError | None = None
        try:
            await self._process.ensure_loaded()
            arguments = encoded_arguments(request, self._route)
            call = self._process.call(arguments, lambda: decoder.done)
            async with aclosing(call) as chunks, aclosing(self._timed(chunks, decoder)) as timed:
                async for chunk in timed:
                    for event in decoder.feed_chunk(chunk):
                        yield event
                    if decoder.done:
                        return
        except CallFailed as error:
            failed = call_error(self._route.provider, error.report, self._route.key)
        except ProviderError as error:
            failed = error
        for event in decoder.close() if failed is None else decoder.fail(failed):
            yield event

    async def _timed(
        self, chunks: AsyncGenerator[JsonObject, None], decoder: LitellmDecoder
    ) -> AsyncGenerator[JsonObject, None]:
        """Yield *chunks*; raise ``ProviderError`` if the next one takes longer than the limits."""
        wait = self._limits.first_event_limit(self._route.base_url)
        while True:
            try:
                async with asyncio.timeout(None if wait == inf else wait):
                    chunk = await anext(chunks, None)
            except TimeoutError as error:
                raise connection_error(
                    self._route.provider, f"no data for {wait or 0:g} seconds"
                ) from error
            if chunk is None:
                return
            yield chunk
            wait = self._limits.after_finish if decoder.finishing else self._limits.idle


def completion_arguments(request: ModelRequest, route: Route) -> JsonObject:
    """Return the arguments of litellm's completion function for *request*."""
    return _adapted(request, route)[1]


def encoded_arguments(request: ModelRequest, route: Route) -> bytes:
    """Return the arguments in JSON; a request with a history converts its newest turns only."""
    return encode_request(request, partial(_adapted, route=route), "messages", route)[1]


def _adapted(request: ModelRequest, route: Route) -> tuple[ModelRequest, JsonObject]:
    """Return *request* as it was adapted, and the arguments."""
    prepared = prepare_request(request)
    chat_body: JsonObject = {**ChatClient.build_body(prepared), "messages": _messages(prepared)}
    body = finish_body(chat_body, prepared)
    name = request.model.wire_id or request.model.id
    for set_by_worker in ("stream", "stream_options"):
        body.pop(set_by_worker, None)
    arguments: JsonObject = {
        **body,
        "model": f"{route.prefix}/{name}",
        "timeout": LITELLM_TIMEOUT,
        "stream_timeout": LITELLM_TIMEOUT,
    }
    if headers := {**route.headers, **request.headers}:
        arguments["extra_headers"] = dict(headers)
    if route.key:
        arguments["api_key"] = route.key
    if route.ca:
        arguments["ssl_verify"] = route.ca
    if base := route.base_url.rstrip("/"):
        arguments["api_base"] = base.removesuffix(ADDED_PATHS.get(route.prefix, "\0"))
    return prepared, arguments


def _messages(request: ModelRequest) -> list[Json]:
    """Return chat messages with the fields that litellm converts back to a provider's own form.

    These are thinking blocks, and Gemini's signatures of texts and calls.
    """
    messages = chat_messages(request)
    replies = (t for t in request.turns if isinstance(t, AssistantTurn))
    for message in messages:
        if isinstance(message, dict) and message.get("role") == "assistant":
            _add_signatures(message, next(replies))
    return messages


def _add_signatures(message: JsonObject, turn: AssistantTurn) -> None:
    blocks: list[Json] = []
    signatures: list[Json] = []
    calls = [content for content in turn.content if isinstance(content, ToolCallContent)]
    for content in turn.content:
        opaque = content.opaque or {}
        if isinstance(content, ReasoningContent):
            if signature := opaque.get("signature"):
                block: JsonObject = {"type": "thinking", "thinking": content.text}
                blocks.append({**block, "signature": signature})
            elif redacted := opaque.get("redacted"):
                blocks.append({"type": "redacted_thinking", "data": redacted})
        elif isinstance(content, TextContent) and (signature := opaque.get(THOUGHT_SIGNATURE)):
            signatures.append(signature)
    if blocks:
        message["thinking_blocks"] = blocks
    if signatures:
        message["provider_specific_fields"] = {"thought_signatures": signatures}
    sent = get_objects(message, "tool_calls")
    for index, call in enumerate(calls):
        if signature := (call.opaque or {}).get(THOUGHT_SIGNATURE):
            # A copy: the next request of the session reuses the same entries.
            signed: JsonObject = {"thought_signature": signature}
            sent[index] = {**sent[index], "provider_specific_fields": signed}
    if sent:
        message["tool_calls"] = list[Json](sent)
