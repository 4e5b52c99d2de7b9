"""The texts of ``agent/prompts``, and the static head of the system prompt, made of them: the role
of the agent and its way of working.

There is one template for each family of models; the rules that all share are one fragment, so that
a change of policy is one edit.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

Family = Literal["claude", "codex", "gpt", "persistent", "gemini", "open", "default"]

_OPEN = (
    "gpt-oss|qwen|qwq|qvq|kimi|moonshot|glm|deepseek|llama|mi[sx]tral|devstral|codestral|magistral|"
    "ministral|gemma|phi-?[2-9]|granite|nemotron|minimax|hermes|olmo|command-r|seed-oss|mimo|"
    "starcoder|yi-|ernie|hunyuan|longcat|step-?[1-9]|smollm|falcon"
)
_PATTERNS: tuple[tuple[str, Family], ...] = (
    # First, since an open model can be named after the one that it was made from.
    (rf"(^|[^a-z])({_OPEN})", "open"),
    (r"(^|[^a-z])claude", "claude"),
    (r"codex", "codex"),
    (r"(^|[^a-z0-9])(o[134]([^a-z0-9]|$)|gpt-?[34]|chatgpt)", "persistent"),
    (r"(^|[^a-z])gpt", "gpt"),
    (r"(^|[^a-z])gemini", "gemini"),
)


def model_family(model_id: str) -> Family:
    """Return the family of a model by its id, as providers write it; ``default`` for an unknown
    one."""
    for pattern, family in _PATTERNS:
        if re.search(pattern, model_id, re.IGNORECASE):
            return family
    return "default"


@cache
def template(name: str) -> str:
    """Return the text of a file of ``agent/prompts`` with its shared fragment inserted."""
    folder = files("agent.prompts")
    text = folder.joinpath(f"{name}.txt").read_text(encoding="utf-8").strip()
    if "{{shared}}" in text:
        text = text.replace("{{shared}}", template("shared"))
    return text


def init_prompt(wish: str = "") -> str:
    """Return the prompt of ``/init``; *wish* is the argument of the command."""
    more = f"\nThe user adds: {wish}" if wish else ""
    return template("init").replace("{{more}}", more).strip()


def system_head(model_id: str, agent_prompt: str | None, own: Mapping[str, str]) -> str:
    """Return the head for a model and an agent.

    An agent's own prompt replaces the template, before the shared rules. One of the user's *own* by
    family replaces everything; ``{{shared}}`` in it represents the shared rules.
    """
    family = model_family(model_id)
    if agent_prompt:
        return f"{agent_prompt.strip()}\n\n{template('shared')}"
    replaced = own.get(family)
    if replaced is None:
        return template(family)
    return replaced.replace("{{shared}}", template("shared")).strip()
