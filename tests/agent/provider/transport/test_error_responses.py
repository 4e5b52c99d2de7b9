"""Error responses of providers in their own forms, and their kinds."""

import json
from typing import Any

import pytest

from agent.provider.transport.errors import OVERFLOW_PATTERNS, error_from_event, error_from_response
from agent.provider.transport.retry import is_retryable

Answer = tuple[int, Any, str]


def openai(message: str, code: str | None = None, kind: str = "invalid_request_error") -> Any:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def anthropic(kind: str, message: str) -> Any:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def google(status: str, message: str, *details: Any) -> Any:
    return {"error": {"code": 400, "message": message, "status": status, "details": list(details)}}


def aws(message: str) -> Any:
    return {"message": message}


OVERFLOW: list[tuple[int, Any]] = [
    (400, openai("token limit exceeded")),
    (400, openai("Token limit was exceeded for this request.")),
    (400, openai("This model has max context length 8192, got 9000 tokens")),
    (400, openai("max_context_length: 8192")),
    (400, openai("Context window exceeded: 9000 > 8192")),
    (400, openai("The context length has been exceeded.")),
    (400, anthropic("invalid_request_error", "prompt is too long: 214008 tokens > 200000 maximum")),
    (413, anthropic("request_too_large", "Request exceeds the maximum size")),
    (400, openai("Your input exceeds the context window of this model.")),
    (400, openai("Invalid 'input[0].content': string too long. Expected a string with maximum "
                 "length 10485760, but got one with length 12000000.", "string_above_max_length")),
    (400, google("INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number "
                 "of tokens allowed (1048576).")),
    (400, google("INVALID_ARGUMENT", "Request payload size exceeds the limit: 20971520 bytes.")),
    (400, aws("Input is too long for requested model.")),
    (400, aws("The model returned the following errors: Input tokens exceeded: Number of input "
              "tokens 300001 exceeds maximum length 300000")),
    (422, {"error": {"message": "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 "
                     "`inputs` tokens and 512 `max_new_tokens`"}}),
    (403, {"error": {"message": "Input token count + max_tokens parameter must be less than the "
                     "context length of the model being queried"}}),
    (422, {"error": "Input validation error: `inputs` must have less than 4095 tokens. Given: 9"}),
    (400, openai("The prompt is too long: 140000, model maximum context length: 131072")),
    (400, openai("The decoder prompt (length 5000) is longer than the maximum model length of "
                 "4096.")),
    (400, {"message": "The input (9000 tokens) is longer than the model's context length (8192)."}),
    (400, openai("The prompt (total length 9000) is too long to fit into the model (8192)")),
    (400, openai("Range of input length should be [1, 129024]")),
    (400, {"error": {"code": "1261", "message": "Prompt exceeds max length"}}),
    (400, openai("max tokens of 4096 exceeded. Total request length was 5000")),
    (400, {"errors": [{"code": 5021, "message": "AiError: The estimated number of input and "
                       "maximum output tokens (5000) exceeded this model context window limit "
                       "(4096)."}]}),
    (400, {"errors": [{"code": "invalid_request", "message": "the number of input tokens 9000 "
                       "cannot exceed the total tokens limit 8192 for this model"}]}),
    (400, openai("litellm.ContextWindowExceededError: too much", "400")),
    (413, openai("Request body too large for gpt-4o model. Max size: 8000 tokens.",
                 "tokens_limit_reached")),
    (429, openai("Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested "
                 "50000. The input or output tokens must be reduced in order to run.", "x")),
    (500, {"error": "prompt too long; exceeded max context length by 200 tokens"}),
    (400, "<html><head><title>413 Request Entity Too Large</title></head></html>"),
]  # fmt: skip
QUOTA: list[tuple[int, Any]] = [
    (400, anthropic("invalid_request_error", "You have reached your specified API usage limits. "
                    "You will regain access on 2026-12-01 at 00:00 UTC.")),
    (429, google("RESOURCE_EXHAUSTED", "Your prepayment credits are depleted. Please go to AI "
                 "Studio to manage your project and billing.")),
    (429, google("RESOURCE_EXHAUSTED", "Your project has exceeded its monthly spending cap.")),
    (403, openai("Key limit exceeded (total limit). Manage it using the settings page.")),
    (403, {"code": "The caller does not have permission", "error": "Your newly created team "
           "doesn't have any credits or licenses yet."}),
    (412, openai("Account acme is suspended, possibly due to reaching the monthly spending limit "
                 "or failure to pay past invoices.")),
    (401, openai("You exceeded your current quota.", None, "insufficient_quota")),
    (400, openai("Access denied, please make sure your account is in good standing.", "Arrearage")),
    (403, openai("The free tier of the model has been exhausted.",
                 "AllocationQuota.FreeTierOnly")),
    (429, openai("Your account is not active, current state: exceeded current quota", None,
                 "exceeded_current_quota_error")),
    (400, openai("Budget has been exceeded! Current cost: 5, Max budget: 1", None,
                 "budget_exceeded")),
    (429, {"errors": [{"code": 4006, "message": "you have used up your daily free allocation of "
                       "10,000 neurons"}]}),
    (402, {"error": "You have exceeded your monthly included credits for Inference Providers."}),
    (400, aws("Your request exceeds the service quota for your account.")),
]  # fmt: skip
FILTERED: list[tuple[int, Any]] = [
    (400, openai("Content Exists Risk")),
    (403, {"code": "x", "error": "Content violates usage guidelines. Failed check: SAFETY_CHECK"}),
    (400, openai("The request was rejected because it was considered high risk", "content_filter")),
    (400, openai("Input data may contain inappropriate content.", "data_inspection_failed")),
    (403, openai("openai/gpt-5 requires moderation. Your input was flagged for \"violence\"")),
    (400, anthropic("invalid_request_error", "Output blocked by content filtering policy")),
]  # fmt: skip
AUTH: list[tuple[int, Any]] = [
    (400, google("INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.")),
    (403, aws("You don't have access to the model with the specified model ID.")),
    (403, openai("Country, region, or territory not supported")),
    (401, {"errors": [{"code": 10000, "message": "Authentication error"}]}),
    (401, {"message": "invalid api token"}),
]  # fmt: skip
RATE: list[tuple[int, Any]] = [
    (429, google("RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan")),
    (429, aws("Too many tokens, please wait before trying again.")),
    (429, openai("Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free "
                 "model requests per day")),
    (429, {"message": "Service tier capacity exceeded for this model.", "code": "3505"}),
    (429, {"message": "You are using a Trial key, which is limited to 20 API calls / minute."}),
]  # fmt: skip
BUSY: list[tuple[int, Any]] = [
    (424, aws("The request failed due to an error while processing the model.")),
    (429, aws("The model specified in the request is not ready to serve inference requests.")),
    (498, openai("Flex tier capacity exceeded")),
    (504, anthropic("timeout_error", "Request timed out")),
    (522, "<html><title>522: Connection timed out</title></html>"),
    (503, {"error": "Model meta/x is currently loading", "estimated_time": 20.0}),
]  # fmt: skip
WRONG: list[tuple[int, Any]] = [
    (400, openai("max_tokens is too large: 65536. This model supports at most 16384 completion "
                 "tokens, whereas you provided 65536.", "invalid_value")),
    (400, anthropic("invalid_request_error", "max_tokens: 65536 > 8192, which is the maximum "
                    "allowed number of output tokens for claude-3-5-haiku")),
    (400, anthropic("invalid_request_error", "messages.1.content.1.image.source.base64: image "
                    "exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes")),
    (400, openai("Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with "
                 "maximum length 40, but got one with length 90.", "string_above_max_length")),
    (400, aws("The maximum tokens you requested exceeds the model limit of 4096.")),
    (500, {"error": {"code": 500, "message": "Conversation roles must alternate user/assistant/"
                     "user/assistant/...", "type": "server_error"}}),
    (500, {"error": "model requires more system memory (8.4 GiB) than is available (7.7 GiB)"}),
    (404, openai("No endpoints found that support tool use.")),
]  # fmt: skip
CASES = [
    pytest.param(status, body, kind, id=f"{kind}-{status}-{number}")
    for kind, answers in (
        ("overflow", OVERFLOW), ("quota", QUOTA), ("content_filter", FILTERED), ("auth", AUTH),
        ("rate_limit", RATE), ("overloaded", BUSY), ("invalid_request", WRONG),
    )
    for number, (status, body) in enumerate(answers)
]  # fmt: skip


@pytest.mark.parametrize(("status", "body", "kind"), CASES)
def test_an_error_response_is_classified(status: int, body: Any, kind: str) -> None:
    raw = body if isinstance(body, str) else json.dumps(body)
    error = error_from_response("acme", status, {}, raw.encode())
    assert error.kind.value == kind
    assert is_retryable(error) == (kind in ("rate_limit", "overloaded"))


def test_at_least_25_wordings_of_an_overflow_are_known() -> None:
    assert len(OVERFLOW_PATTERNS) >= 25


@pytest.mark.parametrize("kind", ["rate_limit", "overloaded"])
def test_the_exception_in_an_aws_header_counts(kind: str) -> None:
    name = {"rate_limit": "ThrottlingException", "overloaded": "ModelNotReadyException"}[kind]
    headers = {"x-amzn-errortype": f"{name}:http://internal.amazon.com/coral"}
    assert error_from_response("bedrock", 429, headers, b"{}").kind.value == kind


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Rate limit of 15 per 60s exceeded. Please wait 12 seconds before retrying.", 12),
        ("Please try again in 6m0s", 360), ("Please try again in 2 minutes.", 120),
        ("please try again after 1 seconds", 1), ("Retry after 1 hour", 3600),
        ("try again in 1h2m3s", 3723), ("retry in 1.5 minutes", 90),
    ],
)  # fmt: skip
def test_the_wait_is_parsed_from_the_message(message: str, seconds: float) -> None:
    assert error_from_event("acme", {"message": message, "code": 429}).retry_after == seconds
