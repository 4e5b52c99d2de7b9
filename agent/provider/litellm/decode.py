"""litellm's chunks decoded: chat completions, with what else it puts into them."""

from agent.provider.client import StreamEvent
from agent.provider.protocols.openai_chat_decode import ChatDecoder
from agent.provider.quirks.reasoning_replay import SIGNATURE
from agent.provider.transport.errors import broken, from_event, from_response
from agent.provider.transport.wire_json import object_in, objects_in, text_in
from agent.records.errors import ProviderError, ProviderErrorKind
from agent.records.json import Json, JsonObject

GLUE = "__thought__"
"""What litellm puts between a call's id and Gemini's signature of its thoughts."""


class LitellmDecoder(ChatDecoder):
    """Also takes thinking blocks with their signatures, and Gemini's signatures of calls."""

    def feed_chunk(self, chunk: JsonObject) -> list[StreamEvent]:
        """The events of one chunk."""
        seen = _without_guesses(chunk)
        events: list[StreamEvent] = []
        # Gemini's parts come as several choices, which all are the first.
        for choice in objects_in(seen, "choices") or [{}]:
            self._end_signed(object_in(choice, "delta"), events)
            if not self.done:
                one: JsonObject = {**seen, "choices": [choice] if choice else []}
                events += self._chunk(one, named_error=False)
                self._end_text(object_in(choice, "delta"), events)
        return events

    def fail(self, error: ProviderError) -> list[StreamEvent]:
        """The end by *error*, which counts also behind a finish reason, unless the connection
        broke: what was finished is whole then."""
        if self.done or error.kind is ProviderErrorKind.NETWORK:
            return self.close(error)
        return self._fail(error)

    def _end_signed(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        """A signature ends its thinking; a redacted block is a thought of its own."""
        for block in objects_in(delta, "thinking_blocks"):
            if sealed := text_in(block, "data"):
                self._end_part(events)
                self._part.end(events, {"redacted": sealed})
            elif signature := text_in(block, "signature"):
                if text := text_in(block, "thinking"):
                    self._reason("reasoning_content", text, events)
                    delta.pop("reasoning_content", None)
                self._part.end(events, {"signature": signature})

    def _end_text(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        """Gemini's signature of a text, which is its end."""
        signatures = object_in(delta, "provider_specific_fields").get("thought_signatures")
        if isinstance(signatures, list) and signatures and not delta.get("tool_calls"):
            self._part.end_text(events, {SIGNATURE: signatures[0]})

    def _take_calls(self, delta: JsonObject, events: list[StreamEvent]) -> None:
        calls = objects_in(delta, "tool_calls")
        for call in calls:
            _unglue(call)
        super()._take_calls(delta, events)
        for call in calls:
            signature = text_in(object_in(call, "provider_specific_fields"), "thought_signature")
            name = text_in(call, "id")
            if signature and name:
                self._calls.attach(name, {SIGNATURE: signature})


def _unglue(call: JsonObject) -> None:
    name, glue, _ = text_in(call, "id").partition(GLUE)
    if glue:
        call["id"] = name


def _without_guesses(chunk: JsonObject) -> JsonObject:
    """*chunk* without reasoning tokens of Anthropic's models, which litellm's tokenizer counts:
    their own usage says nothing of them."""
    usage = object_in(chunk, "usage")
    if "cache_creation_token_details" not in object_in(usage, "prompt_tokens_details"):
        return chunk
    plain: JsonObject = {**usage, "completion_tokens_details": {}}
    return {**chunk, "usage": plain}


def failure(provider: str, told: JsonObject, secret: str = "") -> ProviderError:
    """What the adapter tells of an error, as one of ours. *secret* is hidden in its sentence."""
    status, headers = told.get("status"), object_in(told, "headers")
    known = {name: value for name, value in headers.items() if isinstance(value, str)}
    body = _hidden(text_in(told, "body"), secret)
    data: Json = told.get("data")
    words = _hidden(text_in(told, "words"), secret)
    if body and isinstance(status, int):
        return from_response(provider, status, known, body.encode())
    if data:
        return from_event(provider, data)
    if told.get("broken"):
        return broken(provider, words or "the connection broke off")
    if isinstance(status, int) and 400 <= status < 600:
        return from_response(provider, status, known, words.encode())
    return ProviderError(
        ProviderErrorKind.INVALID_REQUEST,
        f"litellm could not ask {provider}: {text_in(told, 'kind')}: {words}"[:600],
    )


def _hidden(text: str, secret: str) -> str:
    return text.replace(secret, "***") if secret else text
