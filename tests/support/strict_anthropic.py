"""Validation of a request to Anthropic's Messages API, as strict as the real server.

This module checks the request and its tools, ``strict_anthropic_messages`` its messages.
"""

from tests.support import strict_anthropic_messages
from tests.support.strict_schema import function, repeated

_FIELDS = {
    "model", "messages", "max_tokens", "system", "tools", "tool_choice", "temperature", "top_p",
    "top_k", "stop_sequences", "stream", "metadata", "thinking", "service_tier", "output_config",
}  # fmt: skip
MAX_MARKS = 4
MIN_BUDGET = 1024
EFFORTS = {"low", "medium", "high", "xhigh", "max"}


def violations(body: dict, headers: dict[str, str]) -> list[str]:
    """Return what the server would refuse in *body* and *headers*, [] for a valid request."""
    found = [f"{name}: extra inputs are not permitted" for name in sorted(body.keys() - _FIELDS)]
    if not headers.get("anthropic-version"):
        found.append("anthropic-version: header is required")
    if not body.get("model"):
        found.append("model: field required")
    most = body.get("max_tokens")
    if not isinstance(most, int) or most < 1:
        found.append("max_tokens: a positive integer is required")
    found += _system(body) + _tools(body) + _thinking(body) + _sampling(body)
    return found + _marks(body) + strict_anthropic_messages.violations(body)


def _system(body: dict) -> list[str]:
    system = body.get("system")
    if "system" not in body:
        return []
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    if not isinstance(blocks, list) or not blocks:
        return ["system: a text or a list of text blocks that is not empty is required"]
    wrong = any(block.get("type") != "text" for block in blocks)
    empty = any(not (block.get("text") or "").strip() for block in blocks)
    return ["system: text blocks only"] * wrong + ["system: text blocks must be non-empty"] * empty


def _tools(body: dict) -> list[str]:
    tools = body.get("tools") or []
    found = [] if tools or "tools" not in body else ["tools: an empty list is refused"]
    for number, tool in enumerate(tools):
        found += [
            f"tools.{number}: {text}"
            for text in function(tool.get("name"), tool.get("input_schema"))
        ]
    names = [tool.get("name") for tool in tools]
    return found + [f"tools: tool names must be unique ({name})" for name in repeated(names)]


def _thinking(body: dict) -> list[str]:
    thinking = body.get("thinking") or {}
    effort = (body.get("output_config") or {}).get("effort", "high")
    found = [] if effort in EFFORTS else [f"output_config.effort: {effort!r} is unknown"]
    match thinking.get("type", "disabled"):
        case "disabled":
            return found
        case "adaptive":
            if extra := thinking.keys() - {"type", "display"}:
                found.append(f"thinking: {sorted(extra)} are not for adaptive thinking")
            if thinking.get("display", "summarized") not in {"summarized", "omitted"}:
                found.append("thinking.display: summarized or omitted")
        case "enabled":
            budget = thinking.get("budget_tokens")
            if not isinstance(budget, int) or budget < MIN_BUDGET:
                found.append(f"thinking.budget_tokens: at least {MIN_BUDGET}")
            elif isinstance(body.get("max_tokens"), int) and body["max_tokens"] <= budget:
                found.append("max_tokens must be greater than thinking.budget_tokens")
        case other:
            return [*found, f"thinking.type: {other!r} is unknown"]
    if body.get("temperature", 1) != 1:
        found.append("temperature may only be set to 1 when thinking is enabled")
    if "top_k" in body:
        found.append("top_k must be unset when thinking is enabled")
    if (body.get("tool_choice") or {}).get("type") in {"any", "tool"}:
        found.append("thinking may not be enabled when tool_choice forces tool use")
    return found


def _sampling(body: dict) -> list[str]:
    found = [
        f"{name}: range 0..1"
        for name in ("temperature", "top_p")
        if name in body and not 0 <= body[name] <= 1
    ]
    if "temperature" in body and "top_p" in body:
        found.append("temperature and top_p cannot both be specified")
    if any(not text.strip() for text in body.get("stop_sequences") or []):
        found.append("stop_sequences: each must contain non-whitespace")
    return found


def _marks(body: dict) -> list[str]:
    marks = [block["cache_control"] for block in _marked(body) if block.get("cache_control")]
    found = []
    if len(marks) > MAX_MARKS:
        found.append(
            f"a maximum of {MAX_MARKS} blocks with cache_control may be provided, "
            f"found {len(marks)}"
        )
    lives = [mark.get("ttl", "5m") for mark in marks]
    if any(mark.get("type") != "ephemeral" for mark in marks) or set(lives) - {"5m", "1h"}:
        found.append("cache_control: type ephemeral, ttl 5m or 1h")
    if "5m" in lives and "1h" in lives[lives.index("5m") :]:
        found.append("cache_control: ttl 1h must not come after ttl 5m")
    return found


def _marked(body: dict) -> list[dict]:
    """Return all blocks that can have a mark, in the order in which they are cached."""
    blocks = [*(body.get("tools") or [])]
    for content in (body.get("system"), *(m.get("content") for m in body.get("messages") or [])):
        for block in content if isinstance(content, list) else []:
            inner = block.get("content")
            blocks += inner if isinstance(inner, list) else []
            blocks.append(block)
    return blocks
