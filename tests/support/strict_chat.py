"""Validation of a chat-completions request, as strict as the strictest real server."""

from tests.support.strict_schema import call_arguments, function, is_name, repeated


def violations(body: dict) -> list[str]:
    """Return what a strict server would refuse in *body*, [] for a valid request."""
    found: list[str] = []
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages: a non-empty list is required"]
    if not body.get("model"):
        found.append("model: required")
    found += _order(messages)
    for number, message in enumerate(messages):
        found += [f"messages[{number}]: {text}" for text in _message(message)]
    found += _pairs(messages)
    for number, tool in enumerate(body.get("tools") or []):
        found += [f"tools[{number}]: {text}" for text in _tool(tool)]
    if "tools" in body and not body["tools"]:
        found.append("tools: an empty list is refused")
    names = [t.get("function", {}).get("name") for t in body.get("tools") or []]
    return found + [f"tools: name {name} repeats" for name in repeated(names)]


def _order(messages: list[dict]) -> list[str]:
    found = []
    roles = [m.get("role") for m in messages]
    if "system" in roles and any(r == "system" for r in roles[_leading(roles) :]):
        found.append("system messages stand at the start only")
    if roles[-1] not in {"user", "tool"}:
        found.append("the last message must be of the user or a tool")
    return found


def _leading(roles: list) -> int:
    return next((i for i, r in enumerate(roles) if r != "system"), len(roles))


def _message(message: dict) -> list[str]:
    match message.get("role"):
        case "system" | "user":
            return _content(message.get("content"))
        case "assistant":
            calls = message.get("tool_calls")
            found = [] if calls is None or calls else ["tool_calls: an empty list is refused"]
            if not calls:
                found += _content(message.get("content"))
            elif message.get("content") == "":
                found.append("content: empty text beside calls")
            for call in calls or []:
                found += _call(call)
            return found
        case "tool":
            missing = [] if message.get("tool_call_id") else ["tool_call_id: required"]
            content = message.get("content")
            return missing + ([] if isinstance(content, str | list) else ["content: required"])
        case other:
            return [f"role {other!r} is unknown"]


def _content(content: object) -> list[str]:
    if isinstance(content, str):
        return [] if content.strip() else ["content: empty"]
    if not isinstance(content, list) or not content:
        return ["content: required"]
    found = []
    for part in content:
        if part.get("type") == "text" and not part.get("text", "").strip():
            found.append("content: empty text part")
        elif part.get("type") not in {"text", "image_url", "file", "input_audio"}:
            found.append(f"content: part type {part.get('type')!r} is unknown")
    return found


def _call(call: dict) -> list[str]:
    found = []
    if not call.get("id"):
        found.append("tool_calls: id required")
    called = call.get("function") or {}
    if not is_name(called.get("name")):
        found.append(f"tool_calls: name {called.get('name')!r}")
    found += [f"tool_calls: {text}" for text in call_arguments(called.get("arguments"))]
    return found


def _pairs(messages: list[dict]) -> list[str]:
    found: list[str] = []
    open_ids: list[str] = []
    for message in messages:
        role = message.get("role")
        if role == "tool":
            if message.get("tool_call_id") in open_ids:
                open_ids.remove(message["tool_call_id"])
            else:
                found.append(f"tool result {message.get('tool_call_id')!r} without its call")
            continue
        if open_ids:
            found.append(f"calls without a result: {open_ids}")
        open_ids = []
        if role == "assistant":
            open_ids = [c.get("id") for c in message.get("tool_calls") or []]
            if len(set(open_ids)) != len(open_ids):
                found.append(f"call ids repeat in one message: {open_ids}")
    if open_ids:
        found.append(f"calls without a result: {open_ids}")
    return found


def _tool(tool: dict) -> list[str]:
    found = [] if tool.get("type") == "function" else ["type must be function"]
    given = tool.get("function") or {}
    return found + function(given.get("name"), given.get("parameters"))
