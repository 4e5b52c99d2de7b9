"""The first part of the system prompt, by family of models."""

import re
from importlib.resources import files
from typing import get_args

import pytest

from agent.session.prompt.templates import Family, model_family, system_head, template
from tests.support.harness import open_harness
from tests.support.script import Text, answer

MODELS = {
    "claude-sonnet-5-5": "claude",
    "anthropic/claude-3.7-sonnet": "claude",
    "us.anthropic.claude-opus-4-1-v1:0": "claude",
    "gpt-5.4": "gpt",
    "openai/gpt-5-mini": "gpt",
    "gpt-5.3-codex": "codex",
    "codex-mini-latest": "codex",
    "gpt-4.1": "persistent",
    "gpt-4o-2024-11-20": "persistent",
    "chatgpt-4o-latest": "persistent",
    "o1": "persistent",
    "o3-mini": "persistent",
    "openai/o4-mini-high": "persistent",
    "gemini-3-pro-preview": "gemini",
    "models/gemini-2.5-flash": "gemini",
    "gemma-3-27b-it": "open",
    "qwen3-coder:30b": "open",
    "Qwen/Qwen3-Coder-480B-A35B-Instruct": "open",
    "moonshotai/kimi-k2": "open",
    "kimi-for-coding": "open",
    "glm-4.6": "open",
    "zai-org/GLM-4.5-Air": "open",
    "deepseek-chat": "open",
    "deepseek-r1-distill-llama-70b": "open",
    "gpt-oss-120b": "open",
    "mistral-large-latest": "open",
    "mixtral-8x22b": "open",
    "llama-3.3-70b-versatile": "open",
    "grok-4": "default",
    "nova-pro": "default",
    "model-1": "default",
    "pro1": "default",
    "": "default",
}


FAMILIES = get_args(Family)


@pytest.mark.parametrize(("model", "family"), MODELS.items())
def test_a_model_finds_its_family(model: str, family: str) -> None:
    assert model_family(model) == family


@pytest.mark.parametrize("family", FAMILIES)
def test_every_template_is_complete_and_short(family: str) -> None:
    text = template(family)
    assert text.startswith("You are opencode-py")
    assert template("shared") in text
    assert "{{" not in text
    assert len(text) < 8_000


def test_every_file_of_prompts_is_used() -> None:
    names = {path.name for path in files("agent.prompts").iterdir() if path.name.endswith(".txt")}
    used = {
        f"{name}.txt"
        for name in (*FAMILIES, "shared", "plan", "build", "init", "compaction", "title", "judge")
    }
    assert names == used


def test_tools_that_prompts_name_exist() -> None:
    known = {"read", "grep", "glob", "bash", "task", "todowrite", "skill", "edit"}
    for family in FAMILIES:
        named = set(re.findall(r"`([a-z]+)`", template(family)))
        assert named <= known | {"code", "old_string", "gh"}, named


def test_an_agents_own_prompt_and_the_users_replace_the_template() -> None:
    assert system_head("gpt-5", "You sing.", {}) == f"You sing.\n\n{template('shared')}"
    assert system_head("gpt-5", None, {"claude": "x"}) == template("gpt")
    assert system_head("gpt-5", None, {"gpt": "Mine."}) == "Mine."
    assert (
        system_head("gpt-5", None, {"gpt": "Mine.\n{{shared}}"}) == f"Mine.\n{template('shared')}"
    )


async def test_the_head_comes_first(tmp_path) -> None:
    async with open_harness(tmp_path, prompts={"default": "MY-OWN-HEAD"}) as harness:
        harness.server.script(answer(Text("done")))
        await harness.turn(await harness.session(), "go")
        first = harness.server.requests[0].body["messages"][0]
        assert first["role"] == "system"
        assert first["content"].startswith("MY-OWN-HEAD")
