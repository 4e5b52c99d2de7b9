"""The rules for the messages of an Anthropic request: roles, calls and their results, thinking."""

from itertools import pairwise

from tests.support.strict_schema import is_name, repeated
from tests.support.wire import seal

_IMAGES = {"image/jpeg", "image/png", "image/gif", "image/webp"}
_BLOCKS = {
    "user": {"text", "image", "document", "tool_result"},
    "assistant": {"text", "tool_use", "thinking", "redacted_thinking"},
}
THOUGHTS = {"thinking", "redacted_thinking"}


def violations(body: dict) -> list[str]:
    """Return what the server would refuse in the messages of *body*."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        return ["messages: at least one message is required"]
    blocks = [_blocks(message) for message in messages]
    found = _roles([message.get("role") for message in messages])
    for number, message in enumerate(messages):
        found += [
            f"messages.{number}: {text}" for text in _content(message.get("role"), blocks[number])
        ]
    calls = [b.get("id") for content in blocks for b in content if b.get("type") == "tool_use"]
    found += [f"tool_use ids must be unique ({name})" for name in repeated(calls)]
    found += _pairs(blocks)
    by_budget = (body.get("thinking") or {}).get("type") == "enabled"
    if by_budget and not _led(messages, blocks):
        found.append("when thinking is enabled, the assistant message must start with thinking")
    used = any(b.get("type") in {"tool_use", "tool_result"} for content in blocks for b in content)
    if used and not body.get("tools"):
        found.append("requests which include tool_use or tool_result blocks must define tools")
    return found


def _blocks(message: dict) -> list[dict]:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return content if isinstance(content, list) else []


def _roles(roles: list) -> list[str]:
    found = [
        f"messages.{number}.role: {role!r} is neither user nor assistant"
        for number, role in enumerate(roles)
        if role not in _BLOCKS
    ]
    if roles[0] != "user":
        found.append("the first message must use the user role")
    if roles[-1] != "user":
        found.append("the conversation must end with a user message")
    if any(one == two for one, two in pairwise(roles)):
        found.append("roles must alternate between user and assistant")
    return found


def _content(role: object, blocks: list[dict]) -> list[str]:
    if not blocks:
        return ["all messages must have non-empty content"]
    found = []
    for number, block in enumerate(blocks):
        if block.get("type") not in _BLOCKS.get(str(role), set()):
            found.append(f"a block of type {block.get('type')!r} in a message of {role!r}")
        found += [f"content.{number}: {text}" for text in _block(block)]
    kinds = [block.get("type") for block in blocks]
    lead = next((i for i, kind in enumerate(kinds) if kind not in THOUGHTS), len(kinds))
    if any(kind in THOUGHTS for kind in kinds[lead:]):
        found.append("thinking blocks must lead the message")
    if lead == len(kinds):
        found.append("the final block in an assistant message cannot be thinking")
    first = next((i for i, kind in enumerate(kinds) if kind != "tool_result"), len(kinds))
    if "tool_result" in kinds[first:]:
        found.append("tool_result blocks must come first in their message")
    return found


def _block(block: dict) -> list[str]:
    match block.get("type"):
        case "text":
            full = (block.get("text") or "").strip()
            return [] if full else ["text content blocks must contain non-whitespace text"]
        case "tool_use":
            return _call(block)
        case "tool_result":
            return _result(block)
        case "thinking":
            return _thinking(block)
        case "redacted_thinking":
            return _unmarked(block) + ([] if block.get("data") else ["data: field required"])
        case "image":
            return _image(block.get("source") or {})
        case _:
            return []


def _call(block: dict) -> list[str]:
    found = [] if is_name(block.get("id")) else [f"tool_use.id {block.get('id')!r}: [a-zA-Z0-9_-]+"]
    if not is_name(block.get("name")):
        found.append(f"tool_use.name {block.get('name')!r}")
    if not isinstance(block.get("input"), dict):
        found.append("tool_use.input: should be an object")
    return found


def _result(block: dict) -> list[str]:
    content = block.get("content")
    inner = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    found = [] if block.get("tool_use_id") else ["tool_result.tool_use_id: field required"]
    for part in inner:
        if part.get("type") not in {"text", "image", "document"}:
            found.append(f"tool_result.content: a block of type {part.get('type')!r}")
        elif content != "":
            found += _block(part)
    if block.get("is_error"):
        if not content:
            found.append("content cannot be empty if is_error is true")
        if any(part.get("type") != "text" for part in inner):
            found.append("all content must be type text if is_error is true")
    return found


def _thinking(block: dict) -> list[str]:
    if not block.get("signature"):
        return [*_unmarked(block), "thinking.signature: field required"]
    if block["signature"] != seal(block.get("thinking", "")):
        return [*_unmarked(block), "invalid signature in thinking block"]
    return _unmarked(block)


def _unmarked(block: dict) -> list[str]:
    return ["cache_control cannot be set on thinking blocks"] if "cache_control" in block else []


def _image(source: dict) -> list[str]:
    if source.get("type") == "base64" and source.get("media_type") not in _IMAGES:
        return [f"image.source.media_type: {source.get('media_type')!r}"]
    return [] if source.get("type") in {"base64", "url", "file"} else ["image.source: required"]


def _pairs(blocks: list[list[dict]]) -> list[str]:
    """Check that each call has one result in the very next message, and each result its call."""
    found = []
    for number, content in enumerate([*blocks, []]):
        before = blocks[number - 1] if number else []
        calls = [b.get("id") for b in before if b.get("type") == "tool_use"]
        results = [b.get("tool_use_id") for b in content if b.get("type") == "tool_result"]
        found += [
            f"tool_use {name} was found without tool_result blocks immediately after"
            for name in calls
            if name not in results
        ]
        found += [
            f"unexpected tool_use_id in tool_result blocks: {name}"
            for name in results
            if name not in calls
        ]
        found += [
            f"each tool_use must have a single result, found several of {name}"
            for name in repeated(results)
        ]
    return found


def _led(messages: list[dict], blocks: list[list[dict]]) -> bool:
    """Return whether the last response, if results follow, starts with thinking: its first message
    since the user's, or its last one."""
    steps: list[list[str]] = []
    for message, content in zip(messages, blocks, strict=True):
        kinds = [block.get("type", "") for block in content]
        if message.get("role") == "assistant":
            steps.append(kinds)
        elif "tool_result" not in kinds:
            steps.clear()
    if not steps or "tool_use" not in steps[-1]:
        return True
    return steps[0][0] in THOUGHTS or steps[-1][0] in THOUGHTS
