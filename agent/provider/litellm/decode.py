"""The decoder of litellm's chunks: chat completions with additions of litellm's own."""

from agent.provider.client import StreamEvent
from agent.provider.protocols.openai_chat_decode import ChatDecoder
from agent.provider.quirks.reasoning_replay import THOUGHT_SIGNATURE
from agent.provider.transport.errors import (
    connection_error,
    error_from_event,
    error_from_response,
)
from agent.provider.transport.wire_json import get_object, get_objects, get_text
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.json import Json, JsonObject

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
        return connection_error(provider, message or "the connection broke off")
    if isinstance(status, int) and 400 <= status < 600:
        return error_from_response(provider, status, known, message.encode())
    return ProviderError(
        ProviderErrorKind.INVALID_REQUEST,
        f"litellm could not ask {provider}: {get_text(report, 'kind')}: {message}"[:600],
    )


def _hide(text: str, secret: str) -> str:
    return text.replace(secret, "***") if secret else text
