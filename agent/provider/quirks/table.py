"""The table of quirk rules, and the two passes that apply them to a request.

A quirk is a rule in this table, a function whose docstring names the failure that it prevents, and
a test of the same name. Rules are applied in the order of the table.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Generic, TypeAlias, TypeVar

from agent.provider.catalog.effort_levels import NEW_GEMINI, NEW_OPENAI
from agent.provider.client import Api, ModelRequest
from agent.provider.quirks import (
    body_fields,
    media,
    reasoning_effort,
    reasoning_replay,
    tool_calls,
    tool_schemas,
    turn_order,
)
from agent.provider.quirks.target import (
    ALTERNATING_ROLES,
    CACHE_MARKS,
    IMAGES,
    REASONING_REPLAY,
    TEMPERATURE,
    UNSIGNED_CALLS,
    Target,
)
from agent.records.frozen import frozen
from agent.records.json import JsonObject

RequestQuirk: TypeAlias = Callable[[ModelRequest, Target], ModelRequest]
BodyQuirk: TypeAlias = Callable[[JsonObject, ModelRequest, Target], JsonObject]
"""A function of the body made from a request, which it can change in place."""

Q = TypeVar("Q", RequestQuirk, BodyQuirk)


@frozen
class QuirkRule(Generic[Q]):
    """A quirk with the conditions for it. It applies if all of them are met."""

    quirk: Q
    apis: tuple[Api, ...] = ()
    """The protocols, () for all."""

    providers: tuple[str, ...] = ()
    """The providers, () for all."""

    not_providers: tuple[str, ...] = ()
    models: str = ""
    """A pattern that is found in the model's name."""

    not_models: str | None = None
    """A pattern that is not found in the model's name."""

    after_refusal: str | None = None
    """The part that the server must have refused before."""

    unless_refused: str | None = None
    """The part that the server must not have refused before."""

    def applies_to(self, target: Target) -> bool:
        return all(
            (
                not self.apis or target.api in self.apis,
                not self.providers or target.provider in self.providers,
                target.provider not in self.not_providers,
                re.search(self.models, target.model),
                self.not_models is None or not re.search(self.not_models, target.model),
                self.after_refusal is None or self.after_refusal in target.refused,
                self.unless_refused is None or self.unless_refused not in target.refused,
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
"""Chat completions, which litellm converts to each provider's own protocol."""

CLAUDE = r"claude"
CACHE_POINT_MODELS = r"claude-(3-7|opus|sonnet|haiku|fable|mythos)|nova"
OLD_OPENAI = r"^(ft:)?(gpt-[34]|chatgpt)"
"""OpenAI's models without reasoning, which refuse a request for encrypted reasoning."""

LOCAL_SERVERS = ("llama.cpp", "vllm", "lmstudio", "ollama")
CHAT_TEMPLATE_SERVERS = ("llama.cpp", "vllm", "lmstudio")
GATEWAYS = ("openrouter", "vercel-gateway")
THINKING_SWITCH_PROVIDERS = ("zai", "moonshot", "deepseek")
OWN_EFFORT_FORM = (
    *GATEWAYS,
    *THINKING_SWITCH_PROVIDERS,
    *CHAT_TEMPLATE_SERVERS,
    "together",
    "alibaba",
)
CACHE_KEY_PROVIDERS = ("openai", "azure", "openrouter", "moonshot", "xai")

REQUEST_QUIRKS: tuple[QuirkRule[RequestQuirk], ...] = (
    QuirkRule(reasoning_effort.choose_supported_effort),
    QuirkRule(turn_order.drop_empty_text),
    QuirkRule(media.replace_refused_media, after_refusal=IMAGES),
    QuirkRule(media.replace_unsupported_media),
    QuirkRule(reasoning_replay.drop_foreign_reasoning),
    QuirkRule(reasoning_replay.drop_refused_reasoning, after_refusal=REASONING_REPLAY),
    QuirkRule(reasoning_replay.drop_unsigned_thinking, (*MESSAGES, *BEDROCK)),
    QuirkRule(reasoning_replay.drop_unsigned_thinking, LITELLM, models=CLAUDE),
    QuirkRule(reasoning_replay.drop_gemini_thoughts, GEMINI),
    QuirkRule(reasoning_replay.drop_gemini_thoughts, LITELLM, models=r"gemini"),
    QuirkRule(turn_order.split_text_after_calls),
    QuirkRule(reasoning_replay.put_thinking_first, (*MESSAGES, *BEDROCK)),
    QuirkRule(reasoning_replay.put_thinking_first, LITELLM, models=CLAUDE),
    QuirkRule(reasoning_replay.drop_unpaired_reasoning_items, RESPONSES),
    QuirkRule(turn_order.drop_reasoning_only_turns),
    QuirkRule(turn_order.pair_calls_with_results),
    QuirkRule(turn_order.fill_empty_results),
    QuirkRule(media.drop_media_from_failed_results, MESSAGES),
    QuirkRule(media.move_result_media_to_user, (*CHAT, *GEMINI, *COHERE, *OLLAMA, *LITELLM)),
    QuirkRule(turn_order.insert_reply_before_user, (*CHAT, *LITELLM), providers=("mistral",)),
    QuirkRule(turn_order.merge_same_roles, (*MESSAGES, *BEDROCK, *GEMINI, *OLLAMA, *LITELLM)),
    QuirkRule(
        turn_order.merge_same_roles, CHAT, providers=("mistral", "perplexity", *LOCAL_SERVERS)
    ),
    QuirkRule(turn_order.merge_same_roles, CHAT, after_refusal=ALTERNATING_ROLES),
    QuirkRule(turn_order.start_with_user),
    QuirkRule(turn_order.end_with_user),
    QuirkRule(reasoning_replay.fill_call_signatures, (*GEMINI, *LITELLM), models=NEW_GEMINI),
    QuirkRule(reasoning_replay.fill_call_signatures, GEMINI, after_refusal=UNSIGNED_CALLS),
    QuirkRule(tool_calls.sanitize_tool_names),
    QuirkRule(tool_calls.sanitize_call_ids, (*MESSAGES, *RESPONSES, *BEDROCK, *COHERE, *LITELLM)),
    QuirkRule(tool_calls.sanitize_call_ids, CHAT, models=CLAUDE),
    QuirkRule(tool_calls.make_call_ids_unique),
    QuirkRule(tool_calls.shorten_call_ids, (*CHAT, *LITELLM), providers=("mistral",)),
    QuirkRule(
        tool_calls.shorten_call_ids,
        (*CHAT, *LITELLM),
        models=r"mi[sx]tral|devstral|codestral|magistral",
    ),
    QuirkRule(tool_calls.declare_used_tools, (*MESSAGES, *BEDROCK, *LITELLM)),
    QuirkRule(tool_calls.declare_used_tools, CHAT, models=CLAUDE),
    QuirkRule(tool_schemas.flatten_top_level),
    QuirkRule(tool_schemas.drop_schema_metadata),
    QuirkRule(
        tool_schemas.simplify_references_and_items, (*CHAT, *LITELLM), models=r"kimi|moonshot"
    ),
    QuirkRule(tool_schemas.add_missing_array_items),
    QuirkRule(tool_schemas.reduce_to_gemini_subset, GEMINI),
    QuirkRule(tool_schemas.reduce_to_gemini_subset, (*CHAT, *LITELLM), models=r"gemini"),
    QuirkRule(body_fields.drop_unsupported_temperature),
    QuirkRule(body_fields.drop_refused_temperature, after_refusal=TEMPERATURE),
    QuirkRule(body_fields.clamp_temperature_to_one, (*MESSAGES, *BEDROCK, *COHERE)),
    QuirkRule(body_fields.clamp_temperature_to_one, LITELLM, models=CLAUDE),
    QuirkRule(body_fields.set_default_output_cap, MESSAGES),
    QuirkRule(body_fields.clamp_output_cap),
    QuirkRule(body_fields.add_reasoning_budget_to_output_cap),
    QuirkRule(body_fields.raise_output_cap_to_sixteen, RESPONSES),
)

BODY_QUIRKS: tuple[QuirkRule[BodyQuirk], ...] = (
    QuirkRule(
        reasoning_effort.send_effort_as_reasoning_effort, CHAT, not_providers=OWN_EFFORT_FORM
    ),
    QuirkRule(reasoning_effort.send_effort_as_reasoning_effort, LITELLM),
    QuirkRule(
        reasoning_effort.send_effort_as_reasoning_effort,
        CHAT,
        providers=("together",),
        models=r"gpt-oss",
    ),
    QuirkRule(reasoning_effort.send_effort_in_reasoning_object, CHAT, providers=GATEWAYS),
    QuirkRule(
        reasoning_effort.send_effort_as_thinking_switch, CHAT, providers=THINKING_SWITCH_PROVIDERS
    ),
    QuirkRule(
        reasoning_effort.send_effort_as_reasoning_switch,
        CHAT,
        providers=("together",),
        not_models=r"gpt-oss",
    ),
    QuirkRule(reasoning_effort.send_effort_as_enable_thinking, CHAT, providers=("alibaba",)),
    QuirkRule(
        reasoning_effort.send_effort_as_none_or_default, CHAT, providers=("groq",), models=r"qwen"
    ),
    QuirkRule(reasoning_effort.send_effort_in_chat_template, CHAT, providers=CHAT_TEMPLATE_SERVERS),
    QuirkRule(reasoning_effort.send_effort_to_responses, RESPONSES),
    QuirkRule(reasoning_effort.send_effort_to_anthropic, MESSAGES),
    QuirkRule(reasoning_effort.send_effort_to_gemini, GEMINI),
    QuirkRule(reasoning_effort.send_effort_to_cohere, COHERE),
    QuirkRule(reasoning_effort.send_effort_to_ollama, OLLAMA),
    QuirkRule(reasoning_effort.send_effort_to_bedrock, BEDROCK),
    QuirkRule(body_fields.request_encrypted_reasoning, RESPONSES, not_models=OLD_OPENAI),
    QuirkRule(body_fields.keep_thinking, CHAT, providers=("zai",)),
    QuirkRule(body_fields.always_send_reasoning_content, CHAT, providers=("moonshot", "deepseek")),
    QuirkRule(
        body_fields.rename_max_tokens,
        CHAT,
        providers=("openai", "azure"),
        models=NEW_OPENAI.pattern,
    ),
    QuirkRule(body_fields.swap_refused_output_cap, CHAT),
    QuirkRule(body_fields.drop_stream_options, CHAT, providers=("mistral",)),
    QuirkRule(body_fields.request_usage, CHAT, providers=("openrouter",)),
    QuirkRule(body_fields.add_cache_key, CHAT, providers=CACHE_KEY_PROVIDERS),
    QuirkRule(body_fields.add_cache_key, RESPONSES),
    QuirkRule(body_fields.add_anthropic_cache_marks, MESSAGES),
    QuirkRule(
        body_fields.add_chat_cache_marks,
        (*CHAT, *LITELLM),
        models=CLAUDE,
        unless_refused=CACHE_MARKS,
    ),
    QuirkRule(
        body_fields.add_chat_cache_marks, CHAT, providers=("alibaba",), unless_refused=CACHE_MARKS
    ),
    QuirkRule(
        body_fields.add_bedrock_cache_points,
        BEDROCK,
        models=CACHE_POINT_MODELS,
        unless_refused=CACHE_MARKS,
    ),
    QuirkRule(body_fields.drop_refused_parts),
)


def prepare_request(request: ModelRequest, refused: frozenset[str] = frozenset()) -> ModelRequest:
    """Return *request* as its model's provider accepts it.

    *refused* names the parts that the server has refused before. The result has no empty content;
    in each response the calls follow the text, and the next turn has one result for each of them;
    the user has the first and the last turn.
    """
    target = Target.of(request.model, refused)
    for quirk in _request_quirks(target):
        request = quirk(request, target)
    return request


def finish_body(
    body: JsonObject, request: ModelRequest, refused: frozenset[str] = frozenset()
) -> JsonObject:
    """Return the *body* made from the prepared *request*, as its provider accepts it."""
    target = Target.of(request.model, refused)
    for quirk in _body_quirks(target):
        body = quirk(body, request, target)
    return body


@lru_cache(maxsize=64)
def _request_quirks(target: Target) -> tuple[RequestQuirk, ...]:
    return tuple(line.quirk for line in REQUEST_QUIRKS if line.applies_to(target))


@lru_cache(maxsize=64)
def _body_quirks(target: Target) -> tuple[BodyQuirk, ...]:
    return tuple(line.quirk for line in BODY_QUIRKS if line.applies_to(target))
