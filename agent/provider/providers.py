"""The providers that are known without any configuration (spec 5, R2): one entry each.

Anthropic, OpenAI, Google, Cohere and Bedrock are asked in their own protocols, the others in
OpenAI's chat completions; ``provider.<id>.api`` of the config chooses another. An entry names
the base URL (``${NAME}`` is filled from the environment), the variables that may hold the key
and its name in litellm's price list. What a provider wants otherwise than most is a line in
``agent.provider.quirks.table``.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from agent.provider.client import Api

DEMO = "demo"
NEW_OPENAI = re.compile(r"^(o\d|gpt-([5-9]|\d\d)|codex)")
"""OpenAI's reasoning models, which want ``max_completion_tokens`` and no temperature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSpec:
    """A known provider. *keys* are variables, the first that is set counts; none: no key needed.

    *flagship* is the model used when a key is all that is configured; *prices* the provider's
    name in litellm's list; *key_header* carries the key in OpenAI's protocols.
    """

    id: str
    name: str
    base_url: str
    keys: tuple[str, ...] = ()
    api: Api = "openai-chat"
    prices: str | None = None
    flagship: str | None = None
    local: bool = False
    key_header: str = "Authorization"


def _local(provider: str, name: str, port: int, prices: str | None = None) -> ProviderSpec:
    url = f"http://127.0.0.1:{port}/v1"
    return ProviderSpec(id=provider, name=name, base_url=url, local=True, prices=prices)


def _remote(
    provider: str,
    name: str,
    base_url: str,
    *keys: str,
    prices: str | None = None,
    api: Api = "openai-chat",
    flagship: str | None = None,
    key_header: str = "Authorization",
) -> ProviderSpec:
    return ProviderSpec(
        id=provider,
        name=name,
        base_url=base_url,
        keys=keys,
        api=api,
        prices=prices or provider,
        flagship=flagship,
        key_header=key_header,
    )


_ALL = (
    _remote(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        api="anthropic-messages",
        flagship="claude-sonnet-5-5",
    ),
    _remote(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        "OPENAI_API_KEY",
        api="openai-responses",
        flagship="gpt-5.4",
    ),
    _remote(
        "google",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "GOOGLE_GENERATIVE_AI_API_KEY",
        prices="gemini",
        api="gemini",
        flagship="gemini-pro-latest",
    ),
    _remote(
        "cohere",
        "Cohere",
        "https://api.cohere.com",
        "COHERE_API_KEY",
        "CO_API_KEY",
        prices="cohere_chat",
        api="cohere",
        flagship="command-a-03-2025",
    ),
    _remote(
        "bedrock",
        "Amazon Bedrock",
        "https://bedrock-runtime.${AWS_REGION}.amazonaws.com",
        "AWS_BEARER_TOKEN_BEDROCK",
        prices="bedrock_converse",
        api="bedrock",
    ),
    _remote(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        "OPENROUTER_API_KEY",
    ),
    _remote(
        "azure",
        "Azure OpenAI",
        "https://${AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1",
        "AZURE_API_KEY",
        "AZURE_OPENAI_API_KEY",
        key_header="api-key",
    ),
    _remote(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        "GROQ_API_KEY",
        flagship="openai/gpt-oss-120b",
    ),
    _remote(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        "DEEPSEEK_API_KEY",
        flagship="deepseek-v4-pro",
    ),
    _remote(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        "MISTRAL_API_KEY",
        flagship="mistral-medium-latest",
    ),
    _remote(
        "together",
        "Together AI",
        "https://api.together.xyz/v1",
        "TOGETHER_API_KEY",
        prices="together_ai",
    ),
    _remote(
        "fireworks",
        "Fireworks AI",
        "https://api.fireworks.ai/inference/v1",
        "FIREWORKS_API_KEY",
        prices="fireworks_ai",
    ),
    _remote("xai", "xAI", "https://api.x.ai/v1", "XAI_API_KEY", flagship="grok-4.20-reasoning"),
    _remote(
        "cerebras",
        "Cerebras",
        "https://api.cerebras.ai/v1",
        "CEREBRAS_API_KEY",
        flagship="gpt-oss-120b",
    ),
    _remote(
        "moonshot",
        "Moonshot AI",
        "https://api.moonshot.ai/v1",
        "MOONSHOT_API_KEY",
        flagship="kimi-k3",
    ),
    _remote("zai", "Z.AI", "https://api.z.ai/api/paas/v4", "ZAI_API_KEY", flagship="glm-5.3"),
    _remote(
        "alibaba",
        "Alibaba Model Studio",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "DASHSCOPE_API_KEY",
        prices="dashscope",
    ),
    _remote("perplexity", "Perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    _remote("deepinfra", "DeepInfra", "https://api.deepinfra.com/v1/openai", "DEEPINFRA_API_KEY"),
    _remote(
        "nvidia",
        "NVIDIA NIM",
        "https://integrate.api.nvidia.com/v1",
        "NVIDIA_API_KEY",
        prices="nvidia_nim",
    ),
    _remote("huggingface", "Hugging Face", "https://router.huggingface.co/v1", "HF_TOKEN"),
    _remote(
        "github-models",
        "GitHub Models",
        "https://models.github.ai/inference",
        "GITHUB_MODELS_TOKEN",
        prices="github",
    ),
    _remote(
        "vercel-gateway",
        "Vercel AI Gateway",
        "https://ai-gateway.vercel.sh/v1",
        "AI_GATEWAY_API_KEY",
        prices="vercel_ai_gateway",
    ),
    _remote(
        "cloudflare",
        "Cloudflare Workers AI",
        "https://api.cloudflare.com/client/v4/accounts/${CLOUDFLARE_ACCOUNT_ID}/ai/v1",
        "CLOUDFLARE_API_KEY",
        "CLOUDFLARE_API_TOKEN",
    ),
    _remote("nebius", "Nebius", "https://api.studio.nebius.com/v1", "NEBIUS_API_KEY"),
    _remote("sambanova", "SambaNova", "https://api.sambanova.ai/v1", "SAMBANOVA_API_KEY"),
    _local("ollama", "Ollama", 11434),
    _local("lmstudio", "LM Studio", 1234),
    _local("llama.cpp", "llama.cpp", 8080),
    _local("vllm", "vLLM", 8000),
)

KNOWN: Mapping[str, ProviderSpec] = {spec.id: spec for spec in _ALL}

_HOSTS = {urlsplit(spec.base_url).netloc: spec.id for spec in _ALL if not spec.local}


def site_of(provider: str, base_url: str) -> str:
    """The id of the known provider that answers at *base_url*, where the user gave it another
    name; else *provider*."""
    if provider in KNOWN:
        return provider
    try:
        host = urlsplit(base_url).netloc.lower()
    except ValueError:
        return provider
    return _HOSTS.get(host, provider)
