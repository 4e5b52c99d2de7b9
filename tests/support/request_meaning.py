"""The meaning of a request in any protocol: what a model reads, without the protocol's form."""

import json
import re
from collections.abc import Iterator

Line = str
"""``kind: words``: of user, reminder, text, reasoning, call (name and arguments) and result."""

_REMINDER = re.compile(r"(<system-reminder>\n.*?\n</system-reminder>)", re.DOTALL)


def conversation(body: dict) -> list[Line]:
    """Return the conversation of a request, one line for each piece."""
    if "contents" in body:
        return list(_gemini(body["contents"]))
    if "input" in body:
        return list(_responses(body["input"]))
    return list((_anthropic if "system" in body else _chat)(body["messages"]))


def thinks(body: dict) -> bool:
    """Return whether the request asks for reasoning that has room beside the answer."""
    generation = body.get("generationConfig", {})
    limits = (body.get("max_tokens"), body.get("max_output_tokens"))
    most = generation.get("maxOutputTokens") or next(limit for limit in limits if limit)
    thinking = generation.get("thinkingConfig") or body.get("thinking") or {}
    budget = thinking.get("thinkingBudget") or thinking.get("budget_tokens") or 0
    wanted = (
        thinking.get("includeThoughts")
        or thinking.get("type") in {"enabled", "adaptive"}
        or (body.get("reasoning") or {}).get("effort")
        or body.get("reasoning_effort")
    )
    return bool(wanted) and most - budget >= 8_000


def _said(text: str) -> Iterator[Line]:
    for piece in _REMINDER.split(text):
        kind = "reminder" if piece.startswith("<system-reminder>") else "user"
        if piece.strip():
            yield f"{kind}: {piece.strip()}"


def _called(name: str, arguments: dict | str) -> Line:
    given = json.loads(arguments) if isinstance(arguments, str) else arguments
    return f"call: {name} {json.dumps(given)}"


def _anthropic(messages: list[dict]) -> Iterator[Line]:
    for message in messages:
        for block in message["content"]:
            match block["type"]:
                case "text" if message["role"] == "user":
                    yield from _said(block["text"])
                case "text":
                    yield f"text: {block['text']}"
                case "thinking":
                    yield f"reasoning: {block['thinking']}"
                case "tool_use":
                    yield _called(block["name"], block["input"])
                case "tool_result":
                    yield f"result: {block['content']}"


def _responses(items: list[dict]) -> Iterator[Line]:
    for item in items:
        match item["type"]:
            case "message" if item["role"] == "user":
                for part in item["content"]:
                    yield from _said(part["text"])
            case "message":
                yield from (f"text: {part['text']}" for part in item["content"])
            case "reasoning":
                yield "reasoning: " + "".join(part["text"] for part in item["summary"])
            case "function_call":
                yield _called(item["name"], item["arguments"])
            case "function_call_output":
                yield f"result: {item['output']}"


def _gemini(contents: list[dict]) -> Iterator[Line]:
    for content in contents:
        for part in content["parts"]:
            if "functionCall" in part:
                yield _called(part["functionCall"]["name"], part["functionCall"]["args"])
            elif "functionResponse" in part:
                yield f"result: {part['functionResponse']['response']}"
            elif content["role"] == "user":
                yield from _said(part["text"])
            else:
                yield f"text: {part['text']}"


def _chat(messages: list[dict]) -> Iterator[Line]:
    for message in messages:
        content = message.get("content") or ""
        if isinstance(content, list):
            content = "\n\n".join(part["text"] for part in content)
        match message["role"]:
            case "user":
                yield from _said(content)
            case "tool":
                yield f"result: {content}"
            case "assistant":
                if thought := message.get("reasoning_content"):
                    yield f"reasoning: {thought}"
                if content:
                    yield f"text: {content}"
                for call in message.get("tool_calls", ()):
                    yield _called(call["function"]["name"], call["function"]["arguments"])
