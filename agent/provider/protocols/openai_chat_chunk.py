"""The pieces of a chat-completions chunk, read without trust in their shape."""

import json

from agent.records.json import Json, JsonObject
from agent.records.messages import Finish

FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "complete": "stop",
    "completed": "stop",
    "tool_calls": "tool-calls",
    "tool_use": "tool-calls",
    "function_call": "tool-calls",
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "paused",
    "content_filter": "content-filter",
    "safety": "content-filter",
    "sensitive": "content-filter",
    "recitation": "content-filter",
    "refusal": "content-filter",
    "error": "error",
    "network_error": "error",
}
# Words in the place of a finish reason that stand for a failure of the provider.
FAILED = {
    "insufficient_system_resource": "server_error: it ran out of resources",
    "malformed_function_call": "malformed_function_call",
}


def parse(data: str) -> list[JsonObject] | None:
    """The JSON objects in *data*; None for what is none. Some servers leave out the blank line
    between events, so that several arrive as the lines of one."""
    try:
        value: Json = json.loads(data)
    except (ValueError, RecursionError):
        lines = [line for line in data.split("\n") if line.strip() not in ("", "[DONE]")]
        if len(lines) < 2:
            return None
        parsed = [parse(line) for line in lines]
        return None if None in parsed else [chunk for group in parsed if group for chunk in group]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, dict)]
    return [value] if isinstance(value, dict) else None


def first_choice(chunk: JsonObject) -> JsonObject:
    """The first choice (we ask for one), {} where there is none."""
    choices = chunk.get("choices")
    for choice in choices if isinstance(choices, list) else []:
        if isinstance(choice, dict) and choice.get("index") in (0, None):
            return choice
    return {}


def failed_status(chunk: JsonObject) -> Json:
    """MiniMax' own form of an error, which comes with status 200; None where all is well."""
    status = chunk.get("base_resp")
    return status if isinstance(status, dict) and status.get("status_code") else None


def text_of(value: Json) -> str:
    """The text in a string, a text part or a list of them."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(text_of(item) for item in value)
    return text_of(value.get("text")) if isinstance(value, dict) else ""
