"""Who wants what otherwise: the one table of quirks, and the two passes over a request.

A quirk is a line here, a function with the failure that it answers in its docstring, and a test
of the same name. The order of the lines is the order in which they are applied.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeAlias, TypeVar

from agent.provider.catalog.families import NEW_GEMINI
from agent.provider.catalog.providers import NEW_OPENAI
from agent.provider.client import Api, ModelRequest
from agent.provider.quirks import (
    bodies,
    cache,
    calls,
    effort,
    media,
    reasoning,
    sampling,
    schemas,
    turns,
)
from agent.provider.quirks.refusals import (
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
    Line(effort.effort_the_model_has),
    Line(turns.empty_text_dropped),
    Line(media.refused_media_told, once=IMAGES),
    Line(media.unseen_media_told),
    Line(reasoning.foreign_reasoning_dropped),
    Line(reasoning.refused_reasoning_dropped, once=REASONING),
    Line(reasoning.unsigned_thinking_dropped, (*MESSAGES, *BEDROCK)),
    Line(reasoning.unsigned_thinking_dropped, LITELLM, models=CLAUDE),
    Line(reasoning.gemini_thoughts_dropped, GEMINI),
    Line(reasoning.gemini_thoughts_dropped, LITELLM, models=r"gemini"),
    Line(turns.text_before_calls),
    Line(reasoning.thinking_leads, (*MESSAGES, *BEDROCK)),
    Line(reasoning.thinking_leads, LITELLM, models=CLAUDE),
    Line(reasoning.lone_items_dropped, RESPONSES),
    Line(turns.lone_reasoning_dropped),
    Line(turns.calls_answered),
    Line(turns.empty_results_told),
    Line(media.failed_results_are_text, MESSAGES),
    Line(media.result_media_follows, (*CHAT, *GEMINI, *COHERE, *OLLAMA, *LITELLM)),
    Line(turns.reply_before_user, (*CHAT, *LITELLM), sites=("mistral",)),
    Line(turns.roles_alternate, (*MESSAGES, *BEDROCK, *GEMINI, *OLLAMA, *LITELLM)),
    Line(turns.roles_alternate, CHAT, sites=("mistral", "perplexity", *OWN_MACHINE)),
    Line(turns.roles_alternate, CHAT, once=ALTERNATE),
    Line(turns.user_begins),
    Line(turns.user_ends),
    Line(reasoning.call_signatures_filled, (*GEMINI, *LITELLM), models=NEW_GEMINI),
    Line(reasoning.call_signatures_filled, GEMINI, once=UNSIGNED),
    Line(calls.tool_names_taken),
    Line(calls.call_ids_in_alphabet, (*MESSAGES, *RESPONSES, *BEDROCK, *COHERE, *LITELLM)),
    Line(calls.call_ids_in_alphabet, CHAT, models=CLAUDE),
    Line(calls.call_ids_unique),
    Line(calls.call_ids_of_nine, (*CHAT, *LITELLM), sites=("mistral",)),
    Line(
        calls.call_ids_of_nine, (*CHAT, *LITELLM), models=r"mi[sx]tral|devstral|codestral|magistral"
    ),
    Line(calls.used_tools_declared, (*MESSAGES, *BEDROCK, *LITELLM)),
    Line(calls.used_tools_declared, CHAT, models=CLAUDE),
    Line(schemas.object_at_the_top),
    Line(schemas.no_words_about_the_schema),
    Line(schemas.plain_references_and_items, (*CHAT, *LITELLM), models=r"kimi|moonshot"),
    Line(schemas.arrays_have_items),
    Line(schemas.gemini_subset, GEMINI),
    Line(schemas.gemini_subset, (*CHAT, *LITELLM), models=r"gemini"),
    Line(sampling.temperature_where_taken),
    Line(sampling.refused_temperature_dropped, once=TEMPERATURE),
    Line(sampling.temperature_up_to_one, (*MESSAGES, *BEDROCK, *COHERE)),
    Line(sampling.temperature_up_to_one, LITELLM, models=CLAUDE),
    Line(sampling.output_cap_always, MESSAGES),
    Line(sampling.output_within_limit),
    Line(sampling.room_for_reasoning),
    Line(sampling.output_cap_of_sixteen, RESPONSES),
)

BODIES: tuple[Line[BodyQuirk], ...] = (
    Line(effort.effort_by_name, CHAT, elsewhere=OTHER_EFFORT),
    Line(effort.effort_by_name, LITELLM),
    Line(effort.effort_by_name, CHAT, sites=("together",), models=r"gpt-oss"),
    Line(effort.effort_in_object, CHAT, sites=GATEWAYS),
    Line(effort.effort_as_thinking_switch, CHAT, sites=SWITCHED),
    Line(effort.effort_as_reasoning_switch, CHAT, sites=("together",), but=r"gpt-oss"),
    Line(effort.effort_as_enable_thinking, CHAT, sites=("alibaba",)),
    Line(effort.effort_none_or_default, CHAT, sites=("groq",), models=r"qwen"),
    Line(effort.effort_in_template, CHAT, sites=TEMPLATED),
    Line(effort.effort_in_responses, RESPONSES),
    Line(effort.effort_of_claude, MESSAGES),
    Line(effort.effort_of_gemini, GEMINI),
    Line(effort.effort_of_cohere, COHERE),
    Line(effort.effort_of_ollama, OLLAMA),
    Line(effort.effort_of_bedrock, BEDROCK),
    Line(bodies.reasoning_asked_for_sealed, RESPONSES, but=OLD_OPENAI),
    Line(bodies.thinking_kept, CHAT, sites=("zai",)),
    Line(bodies.reasoning_content_always, CHAT, sites=("moonshot", "deepseek")),
    Line(bodies.cap_by_its_new_name, CHAT, sites=("openai", "azure"), models=NEW_OPENAI.pattern),
    Line(bodies.cap_by_its_other_name, CHAT),
    Line(bodies.no_stream_options, CHAT, sites=("mistral",)),
    Line(bodies.usage_asked_for, CHAT, sites=("openrouter",)),
    Line(cache.cache_key, CHAT, sites=KEYED),
    Line(cache.cache_key, RESPONSES),
    Line(cache.cache_marks, MESSAGES),
    Line(cache.cache_marks_in_chat, (*CHAT, *LITELLM), models=CLAUDE, until=CACHING),
    Line(cache.cache_marks_in_chat, CHAT, sites=("alibaba",), until=CACHING),
    Line(cache.cache_points, BEDROCK, models=CACHES_BY_POINTS, until=CACHING),
    Line(bodies.refused_parts_dropped),
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
