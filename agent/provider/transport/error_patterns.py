"""Patterns in the error messages of providers, in lower case, by the kind of error.

They were written from documented and reported messages. ``agent.provider.transport.errors``
defines the order in which the kinds are tried.
"""

import re
from collections.abc import Sequence

OVERFLOW_PATTERNS: Sequence[str] = (
    # Codes.
    r"context_length_exceeded",
    r"model_max_prompt_tokens_exceeded",
    r"exceed_context_size",
    r"model_context_window_exceeded",
    r"too_many_prompt_tokens",
    r"invalid_request_prompt_length",
    r"tokens_limit_reached",
    r"contextwindowexceeded",
    r"request_too_large",
    # Anthropic, Bedrock, Fireworks, Ollama
    r"prompt (is )?too long",
    r"(input|conversation|messages? is|request) is too long",
    r"input length and .?max_tokens.? exceed",
    # Bedrock's Nova
    r"input tokens exceeded",
    # Moonshot, Zhipu
    r"total length of all messages is too long",
    r"prompt exceeds (the )?max(imum)? length",
    r"exceeded model token limit",
    # OpenAI, MiniMax, Cloudflare
    r"exceed(s|ed)? (the |this )?(model'?s? )?context (window|limit|length|size)",
    r"context window exceeds limit",
    r"string too long\b.{0,40}maximum length \d{6,}",
    # llama.cpp
    r"exceeds the available context",
    r"(n_prompt_tokens|n_keep).*n_ctx",
    # OpenRouter, DeepSeek, vLLM, xAI, Mistral
    r"maximum (context|prompt|input) length",
    r"too large for model with",
    # Google
    r"(input|prompt) token(s| count)\b.{0,60}\bexceeds?",
    r"payload size exceeds the limit",
    r"maximum number of (input )?tokens allowed",
    # watsonx
    r"number of (input )?tokens .{0,60}exceeds?",
    # Ollama
    r"exceeded max context length",
    # LM Studio, SGLang, vLLM
    r"(greater|longer|larger) than the (model'?s )?(maximum )?(context|model length)",
    r"context length (is|of) only",
    r"too long to fit into",
    # Groq, Cerebras
    r"reduce the length of (the |your )?(messages|prompt|input|either)",
    # Cohere
    r"too many tokens: size limit",
    # Together, Hugging Face
    r"must be less than the context length",
    r"inputs.? tokens \+ .?max_new_tokens.? must be",
    r"must have less than \d+ tokens",
    # Alibaba
    r"range of input length should be",
    # Snowflake
    r"max tokens of \S+ exceeded",
    # GitHub Models and gateways
    r"tokens? in (the )?request.{0,40}(max|exceed)",
    r"request (entity|size|body) (is )?too large",
    r"exceeds the maximum size",
    r"context overflow",
    r"ran out of context",
)
OVERFLOW = re.compile("|".join(f"(?:{pattern})" for pattern in OVERFLOW_PATTERNS), re.DOTALL)

NEVER_FITS = re.compile(r"request too large.*(must be reduced|reduce your message)", re.DOTALL)
"""One request exceeds the allowance per minute by itself: waiting does not help."""

RATE_LIMIT = re.compile(
    r"rate.?limit|too many (requests|tokens, please wait)|tokens? per (min|hour|day)|"
    r"requests per (min|hour|day)|throttl|rate increased too quickly|high concurrency|"
    r"too_many_(requests|tokens)|resource_exhausted|tokens per minute"
)
QUOTA = re.compile(
    r"insufficient[_ ](quota|balance|credits?|funds)|credit balance is too low|"
    r"requires more credits|(out of|no|any|not enough|run out of) credits|"
    r"exceeded (your |its )?current[_ ]quota|exceeded_current_quota|billing_hard_limit|"
    r"billing[_ ]not[_ ]active|payment[_ ]required|usage_not_included|"
    r"usage limit (has been )?reached|reached your specified api usage limits|please recharge|"
    r"spend(ing)? (limit|cap)|monthly limit|key limit exceeded|quota has been exhausted|"
    r"exceeds the service quota|servicequotaexceeded|credits are depleted|free ?tier.{0,40}exhaust|"
    r"freetieronly|daily free allocation|arrearage|in good standing|budget[_ ](has been )?exceeded|"
    r"valid credit card"
)
SPENDING_CAP = re.compile(r"depleted|spend(ing)? cap")
"""The real quotas among Google's messages, which call rate limits quotas too."""

AUTH = re.compile(
    r"(invalid|incorrect|missing|no|wrong|expired)[ _](x-)?api[ _-]?(key|token)|api[ _-]?key[ _]"
    r"(not valid|is invalid|invalid|not found|expired|is missing)|authentication|unauthori[sz]ed|"
    r"unrecognizedclient|invalid (bearer )?token|security token|invalid_api_key|"
    r"missing authentication|invalid subscription key|access denied due to invalid"
)
FILTERED = re.compile(
    r"content[_ ]?(filter|policy|management)|responsibleai|invalid_prompt|flagged (as|for)|"
    r"usage (policy|guidelines)|safety (system|policy|reasons)|safety_check|moderation|"
    r"sensitive (content|words)|data_inspection_failed|inappropriate content|"
    r"prohibited[_ ]content|content exists risk|considered high risk"
)
OVERLOADED = re.compile(
    r"overloaded|server_is_busy|over capacity|at capacity|capacity exceeded|"
    r"temporarily unavailable|loading model|currently loading|service[_ ]unavailable|"
    r"server[_ ]error|internal[_ ](server[_ ])?error|api_error|try again later|no_kv_space|"
    r"bad gateway|gateway time-?out|upstream (error|connect)"
)
SERVER_FULL = re.compile(r"overloaded|not ready to serve|modelnotready")
"""Messages with status 429 from overloaded servers, as opposed to rate limits."""

NETWORK = re.compile(r"timed? ?out|timeout|connection (reset|closed|error|aborted)|socket hang up")
TOOL_USE = re.compile(
    r"tool_use_failed|malformed[_ ](function[_ ]call|tool[_ ]use|model[_ ]output|response)|"
    r"unexpected[_ ]tool[_ ]call"
)
REFUSED = re.compile(
    r"invalid[_ ](request|argument|params?)|bad_?request|not_found|model_not_found|"
    r"unsupported|not supported|validation"
)
NEVER_WORKS = re.compile(
    r"roles must alternate|chat template|jinja|more system memory|raise_exception"
)
"""Permanent failures of a request, in spite of a status of 500 or above."""
