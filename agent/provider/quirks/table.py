"""Who wants what otherwise: the one table of quirks, and the two passes over a request.

A quirk is a line here, a function with the failure that it answers in its docstring, and a test
of the same name. The order of the lines is the order in which they are applied.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeAlias, TypeVar

from agent.provider.catalog.model_families import NEW_GEMINI, NEW_OPENAI
from agent.provider.client import Api, ModelRequest
from agent.provider.quirks import (
    body_fields,
    media,
    prompt_cache,
    reasoning_effort,
    reasoning_replay,
    sampling_limits,
    tool_calls,
    tool_schemas,
    turn_order,
)
from agent.provider.quirks.refused_parts import (
    ALTERNATE,
    CACHING,
    IMAGES,
    REASONING,
    TEMPERATURE,
    UNSIGNED,
)
from agent.provider.quirks.target import Target
from agent.records.json import JsonObject

RequestQuirk: TypeAlias = Callable[[ModelRequest, Target], ModelRequest]
BodyQuirk: TypeAlias = Callable[[JsonObject, ModelRequest, Target], JsonObject]
"""Takes the body that was made of a request, which it may change in place."""

Q = TypeVar("Q", RequestQuirk, BodyQuirk)


@dataclass(frozen=True, slots=True)
class Line(Generic[Q]):
    """Where *quirk* holds: where all of this is true, and everywhere if nothing is said.

    The protocol is one of *apis*; the server one of *sites* and none of *elsewhere*; the model's
    name has *models* in it, and not *but* (patterns). *once* is what the server must have
    refused before, *until* what it must not have refused.
    """

    quirk: Q
    apis: tuple[Api, ...] = ()
    sites: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    models: str = ""
    but: str | None = None
    once: str | None = None
    until: str | None = None

    def holds(self, target: Target) -> bool:
        return all(
            (
                not self.apis or target.api in self.apis,
                not self.sites or target.site in self.sites,
                target.site not in self.elsewhere,
                re.search(self.models, target.model),
                self.but is None or not re.search(self.but, target.model),
                self.once is None or self.once in target.without,
                self.until is None or self.until not in target.without,
            )
        )


CHAT: tuple[Api, ...] = ("openai-chat",)
RESPONSES: tuple[Api, ...] = ("openai-responses",)
MESSAGES: tuple[Api, ...] = ("anthropic-messages",)
GEMINI: tuple[Api, ...] = ("gemini",)
BEDROCK: tuple[Api, ...] = ("bedrock",)
COHERE: tuple[Api, ...] = ("cohere",)
OLLAMA: tuple[Api, ...] = ("ollama",)
LITELLM: tuple[Api, ...] = ("litellm",)
"""Chat completions, which litellm turns into each provider's own."""

CLAUDE = r"claude"
CACHES_BY_POINTS = r"claude-(3-7|opus|sonnet|haiku|fable|mythos)|nova"
OLD_OPENAI = r"^(ft:)?(gpt-[34]|chatgpt)"
"""OpenAI's models without reasoning, which refuse to be asked for it sealed."""

OWN_MACHINE = ("llama.cpp", "vllm", "lmstudio", "ollama")
TEMPLATED = ("llama.cpp", "vllm", "lmstudio")
GATEWAYS = ("openrouter", "vercel-gateway")
SWITCHED = ("zai", "moonshot", "deepseek")
OTHER_EFFORT = (*GATEWAYS, *SWITCHED, *TEMPLATED, "together", "alibaba")
KEYED = ("openai", "azure", "openrouter", "moonshot", "xai")

REQUESTS: tuple[Line[RequestQuirk], ...] = (
    Line(reasoning_effort.effort_the_model_has),
    Line(turn_order.empty_text_dropped),
    Line(media.refused_media_told, once=IMAGES),
    Line(media.unseen_media_told),
    Line(reasoning_replay.foreign_reasoning_dropped),
    Line(reasoning_replay.refused_reasoning_dropped, once=REASONING),
    Line(reasoning_replay.unsigned_thinking_dropped, (*MESSAGES, *BEDROCK)),
    Line(reasoning_replay.unsigned_thinking_dropped, LITELLM, models=CLAUDE),
    Line(reasoning_replay.gemini_thoughts_dropped, GEMINI),
    Line(reasoning_replay.gemini_thoughts_dropped, LITELLM, models=r"gemini"),
    Line(turn_order.text_before_calls),
    Line(reasoning_replay.thinking_leads, (*MESSAGES, *BEDROCK)),
    Line(reasoning_replay.thinking_leads, LITELLM, models=CLAUDE),
    Line(reasoning_replay.lone_items_dropped, RESPONSES),
    Line(turn_order.lone_reasoning_dropped),
    Line(turn_order.calls_answered),
    Line(turn_order.empty_results_told),
    Line(media.failed_results_are_text, MESSAGES),
    Line(media.result_media_follows, (*CHAT, *GEMINI, *COHERE, *OLLAMA, *LITELLM)),
    Line(turn_order.reply_before_user, (*CHAT, *LITELLM), sites=("mistral",)),
    Line(turn_order.roles_alternate, (*MESSAGES, *BEDROCK, *GEMINI, *OLLAMA, *LITELLM)),
    Line(turn_order.roles_alternate, CHAT, sites=("mistral", "perplexity", *OWN_MACHINE)),
    Line(turn_order.roles_alternate, CHAT, once=ALTERNATE),
    Line(turn_order.user_begins),
    Line(turn_order.user_ends),
    Line(reasoning_replay.call_signatures_filled, (*GEMINI, *LITELLM), models=NEW_GEMINI),
    Line(reasoning_replay.call_signatures_filled, GEMINI, once=UNSIGNED),
    Line(tool_calls.tool_names_taken),
    Line(tool_calls.call_ids_in_alphabet, (*MESSAGES, *RESPONSES, *BEDROCK, *COHERE, *LITELLM)),
    Line(tool_calls.call_ids_in_alphabet, CHAT, models=CLAUDE),
    Line(tool_calls.call_ids_unique),
    Line(tool_calls.call_ids_of_nine, (*CHAT, *LITELLM), sites=("mistral",)),
    Line(
        tool_calls.call_ids_of_nine,
        (*CHAT, *LITELLM),
        models=r"mi[sx]tral|devstral|codestral|magistral",
    ),
    Line(tool_calls.used_tools_declared, (*MESSAGES, *BEDROCK, *LITELLM)),
    Line(tool_calls.used_tools_declared, CHAT, models=CLAUDE),
    Line(tool_schemas.object_at_the_top),
    Line(tool_schemas.no_words_about_the_schema),
    Line(tool_schemas.plain_references_and_items, (*CHAT, *LITELLM), models=r"kimi|moonshot"),
    Line(tool_schemas.arrays_have_items),
    Line(tool_schemas.gemini_subset, GEMINI),
    Line(tool_schemas.gemini_subset, (*CHAT, *LITELLM), models=r"gemini"),
    Line(sampling_limits.temperature_where_taken),
    Line(sampling_limits.refused_temperature_dropped, once=TEMPERATURE),
    Line(sampling_limits.temperature_up_to_one, (*MESSAGES, *BEDROCK, *COHERE)),
    Line(sampling_limits.temperature_up_to_one, LITELLM, models=CLAUDE),
    Line(sampling_limits.output_cap_always, MESSAGES),
    Line(sampling_limits.output_within_limit),
    Line(sampling_limits.room_for_reasoning),
    Line(sampling_limits.output_cap_of_sixteen, RESPONSES),
)

BODIES: tuple[Line[BodyQuirk], ...] = (
    Line(reasoning_effort.effort_by_name, CHAT, elsewhere=OTHER_EFFORT),
    Line(reasoning_effort.effort_by_name, LITELLM),
    Line(reasoning_effort.effort_by_name, CHAT, sites=("together",), models=r"gpt-oss"),
    Line(reasoning_effort.effort_in_object, CHAT, sites=GATEWAYS),
    Line(reasoning_effort.effort_as_thinking_switch, CHAT, sites=SWITCHED),
    Line(reasoning_effort.effort_as_reasoning_switch, CHAT, sites=("together",), but=r"gpt-oss"),
    Line(reasoning_effort.effort_as_enable_thinking, CHAT, sites=("alibaba",)),
    Line(reasoning_effort.effort_none_or_default, CHAT, sites=("groq",), models=r"qwen"),
    Line(reasoning_effort.effort_in_template, CHAT, sites=TEMPLATED),
    Line(reasoning_effort.effort_in_responses, RESPONSES),
    Line(reasoning_effort.effort_of_claude, MESSAGES),
    Line(reasoning_effort.effort_of_gemini, GEMINI),
    Line(reasoning_effort.effort_of_cohere, COHERE),
    Line(reasoning_effort.effort_of_ollama, OLLAMA),
    Line(reasoning_effort.effort_of_bedrock, BEDROCK),
    Line(body_fields.reasoning_asked_for_sealed, RESPONSES, but=OLD_OPENAI),
    Line(body_fields.thinking_kept, CHAT, sites=("zai",)),
    Line(body_fields.reasoning_content_always, CHAT, sites=("moonshot", "deepseek")),
    Line(
        body_fields.cap_by_its_new_name, CHAT, sites=("openai", "azure"), models=NEW_OPENAI.pattern
    ),
    Line(body_fields.cap_by_its_other_name, CHAT),
    Line(body_fields.no_stream_options, CHAT, sites=("mistral",)),
    Line(body_fields.usage_asked_for, CHAT, sites=("openrouter",)),
    Line(prompt_cache.cache_key, CHAT, sites=KEYED),
    Line(prompt_cache.cache_key, RESPONSES),
    Line(prompt_cache.cache_marks, MESSAGES),
    Line(prompt_cache.cache_marks_in_chat, (*CHAT, *LITELLM), models=CLAUDE, until=CACHING),
    Line(prompt_cache.cache_marks_in_chat, CHAT, sites=("alibaba",), until=CACHING),
    Line(prompt_cache.cache_points, BEDROCK, models=CACHES_BY_POINTS, until=CACHING),
    Line(body_fields.refused_parts_dropped),
)


def prepared(request: ModelRequest, without: frozenset[str] = frozenset()) -> ModelRequest:
    """*request* as its model's provider takes it; *without* names what was refused before.

    What comes out holds nothing empty; each answer has its calls behind its words, and one
    result for each of them in the turn after it; the user begins and ends.
    """
    target = Target.of(request.model, without)
    for quirk in _of_requests(target):
        request = quirk(request, target)
    return request


def finished(
    body: JsonObject, request: ModelRequest, without: frozenset[str] = frozenset()
) -> JsonObject:
    """The *body* that was made of the prepared *request*, as its provider takes it."""
    target = Target.of(request.model, without)
    for quirk in _of_bodies(target):
        body = quirk(body, request, target)
    return body


@lru_cache(maxsize=64)
def _of_requests(target: Target) -> tuple[RequestQuirk, ...]:
    return tuple(line.quirk for line in REQUESTS if line.holds(target))


@lru_cache(maxsize=64)
def _of_bodies(target: Target) -> tuple[BodyQuirk, ...]:
    return tuple(line.quirk for line in BODIES if line.holds(target))
