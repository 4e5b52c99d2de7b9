"""Validation of a request to the Responses API, as strict as the real server.

The server stores nothing between requests, as with ``store: false``: everything that an item needs
must be in the input.
"""

import re

from tests.support.strict_schema import call_arguments, function, is_name, repeated
from tests.support.wire import seal

_FIELDS = {
    "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "stream",
    "stream_options", "store", "include", "reasoning", "text", "temperature", "top_p",
    "max_output_tokens", "max_tool_calls", "metadata", "truncation", "service_tier", "user",
    "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "background",
}  # fmt: skip
_PREFIX = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
_PARTS = {
    "assistant": {"output_text", "refusal"},
    "user": {"input_text", "input_image", "input_file"},
}
_FOLLOWS = re.compile(r"_of_(rs_\w+)$")
"""The end of an item's id, which names its reasoning (``responses_dialect``)."""


def violations(body: dict) -> list[str]:
    """Return what the server would refuse in *body*, [] for a valid request."""
    found = [f"unknown parameter: {name!r}" for name in sorted(body.keys() - _FIELDS)]
    if not body.get("model"):
        found.append("missing required parameter: 'model'")
    found += _numbers(body)
    found += _tools(body)
    items = body.get("input")
    if isinstance(items, str) and items.strip():
        return found
    if not isinstance(items, list) or not items:
        return [*found, "input: a text or a list that is not empty is required"]
    for number, item in enumerate(items):
        found += [f"input[{number}]: {text}" for text in _item(item, body)]
    ids = [item["id"] for item in items if item.get("id")]
    found += [f"duplicate item found with id {name}" for name in repeated(ids)]
    return found + _calls(items) + _reasoning_order(items)


def _numbers(body: dict) -> list[str]:
    found = []
    most = body.get("max_output_tokens")
    if most is not None and (not isinstance(most, int) or most < 16):
        found.append("max_output_tokens: expected an integer of at least 16")
    if body.get("reasoning"):
        found += [
            f"unsupported parameter: {name!r} is not supported with reasoning"
            for name in ("temperature", "top_p")
            if name in body
        ]
    if "instructions" in body and not (body["instructions"] or "").strip():
        found.append("instructions: empty")
    return found


def _tools(body: dict) -> list[str]:
    tools = body.get("tools") or []
    found = [] if tools or "tools" not in body else ["tools: an empty list is refused"]
    for number, tool in enumerate(tools):
        problems = [] if tool.get("type") == "function" else ["type must be function"]
        if "function" in tool:
            problems.append("unknown parameter: 'function'; name and parameters stand beside type")
        problems += function(tool.get("name"), tool.get("parameters"))
        if tool.get("strict"):
            problems += _strict(tool.get("parameters") or {})
        found += [f"tools[{number}]: {text}" for text in problems]
    names = [tool.get("name") for tool in tools]
    return found + [f"tools: name {name} repeats" for name in repeated(names)]


def _strict(schema: dict) -> list[str]:
    found = []
    if schema.get("additionalProperties") is not False:
        found.append("strict: additionalProperties must be false")
    if set(schema.get("required") or []) != set(schema.get("properties") or {}):
        found.append("strict: every property must be required")
    return found


def _item(item: dict, body: dict) -> list[str]:
    kind = item.get("type", "message")
    found = _id(item, _PREFIX.get(kind, ""))
    match kind:
        case "message":
            return found + _message(item)
        case "function_call":
            if not is_name(item.get("name")):
                found.append(f"name {item.get('name')!r}")
            return found + _call_id(item) + call_arguments(item.get("arguments"))
        case "function_call_output":
            output = item.get("output")
            right = isinstance(output, str) or (isinstance(output, list) and output)
            return found + _call_id(item) + ([] if right else ["output: required"])
        case "reasoning":
            return found + _reasoning(item, stored=body.get("store", True))
        case "item_reference" if not body.get("store", True):
            return [*found, "items are not persisted when store is false"]
        case "item_reference":
            return found
        case other:
            return [*found, f"type {other!r} is unknown"]


def _id(item: dict, prefix: str) -> list[str]:
    name = item.get("id")
    if name is None:
        return []
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", str(name)):
        return [f"id {name!r}: letters, digits, _ and -, at most 64"]
    right = not prefix or str(name).startswith(prefix)
    return [] if right else [f"id {name!r}: expected an id that begins with {prefix!r}"]


def _call_id(item: dict) -> list[str]:
    return [] if is_name(item.get("call_id")) else [f"call_id {item.get('call_id')!r}"]


def _message(item: dict) -> list[str]:
    role, content = item.get("role"), item.get("content")
    if role not in {"user", "assistant", "system", "developer"}:
        return [f"role {role!r} is unknown"]
    if item.get("phase") not in {None, "commentary", "final_answer"}:
        return [f"phase {item['phase']!r} is unknown"]
    if "phase" in item and role != "assistant":
        return ["phase: for messages of the assistant only"]
    if isinstance(content, str):
        return [] if content.strip() else ["content: empty"]
    if not isinstance(content, list) or not content:
        return ["content: required"]
    kinds = _PARTS["assistant" if role == "assistant" else "user"]
    found = []
    for part in content:
        if part.get("type") not in kinds:
            found.append(f"content: {part.get('type')!r}; supported are {sorted(kinds)}")
        elif part["type"].endswith("_text") and not part.get("text", "").strip():
            found.append("content: empty text part")
    return found


def _reasoning(item: dict, *, stored: bool) -> list[str]:
    summary = item.get("summary")
    if not item.get("id") or not isinstance(summary, list):
        return ["reasoning: id and summary are required"]
    sealed = item.get("encrypted_content")
    shown = item.get("content")
    if sealed is None and shown:  # open models' servers seal nothing and take it as they gave it
        right = all(p.get("type") == "reasoning_text" and p.get("text") for p in shown)
        return [] if right else ["reasoning: content is parts of reasoning_text"]
    if sealed is None:
        return [] if stored else [f"{item['id']} not found: items are not persisted without store"]
    text = "".join(part.get("text", "") for part in summary)
    if text and sealed != seal(item["id"] + text):
        return ["the encrypted content could not be verified"]
    return []


def _calls(items: list[dict]) -> list[str]:
    """Check that each call has one output, somewhere after it."""
    found: list[str] = []
    waiting: set[str] = set()
    known: set[str] = set()
    for item in items:
        call_id = str(item.get("call_id"))
        if item.get("type") == "function_call":
            if call_id in known:
                found.append(f"call_id {call_id} repeats")
            known.add(call_id)
            waiting.add(call_id)
        elif item.get("type") == "function_call_output":
            if call_id not in waiting:
                what = "a second output for" if call_id in known else "no tool call found for"
                found.append(f"{what} call_id {call_id}")
            waiting.discard(call_id)
    return found + [f"no tool output found for function call {name}" for name in sorted(waiting)]


def _reasoning_order(items: list[dict]) -> list[str]:
    found: list[str] = []
    for number, item in enumerate(items):
        after = items[number + 1] if number + 1 < len(items) else {}
        if item.get("type") == "reasoning" and not _is_output(after):
            found.append(f"item {item.get('id')} was provided without its required following item")
        needed = _FOLLOWS.search(str(item.get("id", "")))
        before = items[number - 1] if number else {}
        if needed is not None and before.get("id") != needed[1]:
            found.append(f"item {item['id']} was provided without its reasoning item {needed[1]}")
    return found


def _is_output(item: dict) -> bool:
    kind = item.get("type", "message")
    return kind in {"function_call", "reasoning"} or item.get("role") == "assistant"
