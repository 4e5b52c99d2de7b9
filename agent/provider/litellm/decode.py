"""litellm's chunks decoded: chat completions, with what else it puts into them."""

from agent.provider.client import StreamEvent
from agent.provider.protocols.openai_chat_decode import ChatDecoder
from agent.provider.quirks.reasoning_replay import THOUGHT_SIGNATURE
from agent.provider.transport.errors import connection_error, error_from_event, error_from_response
from agent.provider.transport.wire_json import get_object, get_objects, get_text
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.json import Json, JsonObject

SIGNATURE_SEPARATOR = "__thought__"
"""What litellm puts between a call's id and Gemini's signature of its thoughts."""


class LitellmDecoder(ChatDecoder):
    """Also takes thinking blocks with their signatures, and Gemini's signatures of calls."""

    def feed_chunk(self, chunk: JsonObject) -> list[StreamEvent]:
        """The events of one chunk."""
        seen = _without_guesses(chunk)
        events: list[StreamEvent] = []
        # Gemini's parts come as several choices, which all are the first.
        for choice in get_objects(seen, "choices") or [{}]:
            self._end_signed(get_object(choice, "delta"), events)
            if not self.done:
                one: JsonObject = {**seen, "choices": [choice] if choice else []}
                events += self._chunk(one, named_error=False)
                self._end_text(get_object(choice, "delta"), events)
        return events

    def fail(self, error: ProviderError) -> list[StreamEvent]:
        """The end by *error*, which counts also behind a finish reason, unless the connection
        broke: what was finished is whole then."""
        if self.done or error.kind is ProviderErrorKind.NETWORK:
            return self.close(error)
        return self._fail(error)

    def _end_signed(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        """A signature ends its thinking; a redacted block is a thought of its own."""
        for block in get_objects(delta, "thinking_blocks"):
            if sealed := get_text(block, "data"):
                self._end_part(events)
                self._part.end(events, {"redacted": sealed})
            elif signature := get_text(block, "signature"):
                if text := get_text(block, "thinking"):
                    self._reason("reasoning_content", text, events)
                    delta.pop("reasoning_content", None)
                self._part.end(events, {"signature": signature})

    def _end_text(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        """Gemini's signature of a text, which is its end."""
        signatures = get_object(delta, "provider_specific_fields").get("thought_signatures")
        if isinstance(signatures, list) and signatures and not delta.get("tool_calls"):
            self._part.end_text(events, {THOUGHT_SIGNATURE: signatures[0]})

    def _take_calls(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        calls = get_objects(delta, "tool_calls")
        for call in calls:
            _unglue(call)
        super()._take_calls(delta, events)
        for call in calls:
            signature = get_text(get_object(call, "provider_specific_fields"), "thought_signature")
            name = get_text(call, "id")
            if signature and name:
                self._calls.attach(name, {THOUGHT_SIGNATURE: signature})


def _unglue(call: JsonObject) -> None:
    name, glue, _ = get_text(call, "id").partition(SIGNATURE_SEPARATOR)
    if glue:
        call["id"] = name


def _without_guesses(chunk: JsonObject) -> JsonObject:
    """*chunk* without reasoning tokens of Anthropic's models, which litellm's tokenizer counts:
    their own usage says nothing of them."""
    usage = get_object(chunk, "usage")
    if "cache_creation_token_details" not in get_object(usage, "prompt_tokens_details"):
        return chunk
    plain: JsonObject = {**usage, "completion_tokens_details": {}}
    return {**chunk, "usage": plain}


def call_error(provider: str, told: JsonObject, secret: str = "") -> ProviderError:
    """What the adapter tells of an error, as one of ours. *secret* is hidden in its sentence."""
    status, headers = told.get("status"), get_object(told, "headers")
    known = {name: value for name, value in headers.items() if isinstance(value, str)}
    body = _hidden(get_text(told, "body"), secret)
    data: Json = told.get("data")
    words = _hidden(get_text(told, "words"), secret)
    if body and isinstance(status, int):
        return error_from_response(provider, status, known, body.encode())
    if data:
        return error_from_event(provider, data)
    if told.get("broken"):
        return connection_error(provider, words or "the connection broke off")
    if isinstance(status, int) and 400 <= status < 600:
        return error_from_response(provider, status, known, words.encode())
    return ProviderError(
        ProviderErrorKind.INVALID_REQUEST,
        f"litellm could not ask {provider}: {get_text(told, 'kind')}: {words}"[:600],
    )


def _hidden(text: str, secret: str) -> str:
    return text.replace(secret, "***") if secret else text
