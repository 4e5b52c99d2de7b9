"""The table of providers that are known without any configuration: one entry each.

Anthropic, OpenAI, Google, Cohere and Bedrock are used in their own protocols, the others in
OpenAI's chat completions or through litellm; ``provider.<id>.api`` and ``.transport`` of the
config choose another. An entry names the base URL (``${NAME}`` is filled from the environment)
and the variables that can hold the key. The special requirements of a provider are lines of
``agent.provider.quirks.table``.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal
from urllib.parse import urlsplit

from agent.provider.client import Api
from agent.records.frozen import frozen

Transport = Literal["http", "litellm"]
"""``http``: in a wire protocol of ours; ``litellm``: through the litellm worker."""


@frozen
class DeviceLogin:
    """A login with a code that the user enters on a page of *name*."""

    name: str
    url: str
    """The address of the site."""

    url_variable: str
    """The variable that names another site."""

    client_id: str
    scope: str


@frozen
class ProviderSpec:
    """A known provider. Without a name in the price list it has its id there, and that is also the
    name for litellm."""

    id: str
    name: str
    base_url: str
    key_variables: tuple[str, ...] = ()
    """The variables that can hold the key; the first one that is set counts."""

    key_page: str = ""
    """The page where keys are made."""

    key_check: str = ""
    """The path that refuses a wrong key, where the list of models is public."""

    device_login: DeviceLogin | None = None
    """The login that gives a key."""

    login_variables: tuple[str, ...] = ()
    """The variables of another login than a key, such as AWS credentials or a Google service
    account. Only litellm can use it, unless ``aws_signing`` is set."""

    api: Api = "openai-chat"
    transport: Transport = "http"
    price_list_names: tuple[str, ...] = ()
    """The provider's names in litellm's price list."""

    litellm_name: str = ""
    """The provider's name as the prefix of litellm's model names."""

    flagship: str | None = None
    """The default model if a key is all that is configured."""

    small_model: str | None = None
    """The model for titles."""

    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Headers that are sent with each request."""

    key_header: str = "Authorization"
    """The header with the key in OpenAI's protocols."""

    local: bool = False
    """True if it is a server on this machine."""

    aws_signing: bool = False
    """True if requests can be signed with AWS credentials."""

    def __post_init__(self) -> None:
        if not self.local:
            listed = self.price_list_names or (self.id,)
            object.__setattr__(self, "price_list_names", listed)
            object.__setattr__(self, "litellm_name", self.litellm_name or listed[0])


def local(provider: str, name: str, port: int, litellm_name: str) -> ProviderSpec:
    """Return an entry for a server on this machine that listens on *port*."""
    url = f"http://127.0.0.1:{port}/v1"
    return ProviderSpec(id=provider, name=name, base_url=url, local=True, litellm_name=litellm_name)


DEMO = "demo"

AWS_LOGINS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
)
GITHUB_LOGIN = DeviceLogin(
    "GitHub", "https://github.com", "GITHUB_COPILOT_LOGIN_URL", "Ov23li8tweQw6odWQebz", "read:user"
)
"""The login of opencode: GitHub accepts tokens for Copilot only from programs that it knows."""

GOOGLE_LOGINS = ("GOOGLE_APPLICATION_CREDENTIALS", "VERTEXAI_CREDENTIALS", "VERTEXAI_PROJECT")


_ALL = (
    ProviderSpec(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        ("ANTHROPIC_API_KEY",),
        key_page="platform.claude.com/settings/keys",
        api="anthropic-messages",
        flagship="claude-sonnet-5-5",
        small_model="claude-haiku-5-5",
    ),
    ProviderSpec(
        "openai",
        "OpenAI",
        "https://api.openai.com/v1",
        ("OPENAI_API_KEY",),
        key_page="platform.openai.com/api-keys",
        api="openai-responses",
        flagship="gpt-6.1-sol",
        small_model="gpt-5.4-mini",
    ),
    ProviderSpec(
        "google",
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"),
        key_page="aistudio.google.com/apikey",
        price_list_names=("gemini",),
        api="gemini",
        flagship="gemini-pro-latest",
        small_model="gemini-flash-lite-latest",
    ),
    # A key is for Vertex's express mode; projects and service accounts are litellm's business.
    ProviderSpec(
        "vertex",
        "Google Vertex AI",
        "https://aiplatform.googleapis.com/v1/publishers/google",
        ("GOOGLE_VERTEX_API_KEY",),
        key_page="console.cloud.google.com/vertex-ai/studio/settings/api-keys",
        price_list_names=("vertex_ai-language-models", "vertex_ai-anthropic_models", "vertex_ai"),
        litellm_name="vertex_ai",
        login_variables=GOOGLE_LOGINS,
        api="gemini",
        flagship="gemini-4-argon",
        small_model="gemini-2.5-flash-lite",
    ),
    ProviderSpec(
        "cohere",
        "Cohere",
        "https://api.cohere.com",
        ("COHERE_API_KEY", "CO_API_KEY"),
        key_page="dashboard.cohere.com/api-keys",
        price_list_names=("cohere_chat",),
        api="cohere",
        flagship="command-a-03-2025",
        small_model="command-r7b-12-2024",
    ),
    ProviderSpec(
        "bedrock",
        "Amazon Bedrock",
        "https://bedrock-runtime.${AWS_REGION}.amazonaws.com",
        ("AWS_BEARER_TOKEN_BEDROCK",),
        key_page="console.aws.amazon.com/bedrock (API keys)",
        price_list_names=("bedrock_converse",),
        litellm_name="bedrock",
        login_variables=AWS_LOGINS,
        api="bedrock",
        aws_signing=True,
        small_model="amazon.nova-lite-v1:0",
    ),
    ProviderSpec(
        "sagemaker",
        "Amazon SageMaker",
        "",
        key_page="console.aws.amazon.com/sagemaker",
        litellm_name="sagemaker_chat",
        login_variables=AWS_LOGINS,
        transport="litellm",
    ),
    ProviderSpec(
        "watsonx",
        "IBM watsonx",
        "${WATSONX_API_BASE}",
        ("WATSONX_API_KEY", "WATSONX_APIKEY", "WX_API_KEY"),
        key_page="cloud.ibm.com/iam/apikeys",
        transport="litellm",
    ),
    ProviderSpec(
        "replicate",
        "Replicate",
        "",
        ("REPLICATE_API_KEY", "REPLICATE_API_TOKEN"),
        key_page="replicate.com/account/api-tokens",
        transport="litellm",
    ),
    ProviderSpec(
        "openrouter",
        "OpenRouter",
        "https://openrouter.ai/api/v1",
        ("OPENROUTER_API_KEY",),
        key_page="openrouter.ai/settings/keys",
        key_check="/key",
    ),
    ProviderSpec(
        "opencode",
        "OpenCode Zen",
        "https://opencode.ai/zen/v1",
        ("OPENCODE_API_KEY",),
        key_page="opencode.ai/auth",
    ),
    ProviderSpec(
        "azure",
        "Azure OpenAI",
        "https://${AZURE_RESOURCE_NAME}.openai.azure.com/openai/v1",
        ("AZURE_API_KEY", "AZURE_OPENAI_API_KEY"),
        key_page="portal.azure.com (the resource's Keys and Endpoint)",
        litellm_name="openai",
        key_header="api-key",
    ),
    ProviderSpec(
        "github-copilot",
        "GitHub Copilot",
        "https://api.githubcopilot.com",
        ("GITHUB_COPILOT_TOKEN",),
        key_page="github.com/settings/copilot",
        device_login=GITHUB_LOGIN,
        price_list_names=("github_copilot",),
        litellm_name="openai",
        headers={"openai-intent": "conversation-edits"},
        small_model="gpt-5-mini",
    ),
    ProviderSpec(
        "github-models",
        "GitHub Models",
        "https://models.github.ai/inference",
        ("GITHUB_MODELS_TOKEN",),
        key_page="github.com/settings/personal-access-tokens (permission: models)",
        price_list_names=("github",),
    ),
    ProviderSpec(
        "groq",
        "Groq",
        "https://api.groq.com/openai/v1",
        ("GROQ_API_KEY",),
        key_page="console.groq.com/keys",
        flagship="openai/gpt-oss-120b",
        small_model="openai/gpt-oss-20b",
    ),
    ProviderSpec(
        "deepseek",
        "DeepSeek",
        "https://api.deepseek.com/v1",
        ("DEEPSEEK_API_KEY",),
        key_page="platform.deepseek.com/api_keys",
        flagship="deepseek-v4-pro",
        small_model="deepseek-v4-flash",
    ),
    ProviderSpec(
        "mistral",
        "Mistral",
        "https://api.mistral.ai/v1",
        ("MISTRAL_API_KEY",),
        key_page="console.mistral.ai/api-keys",
        flagship="mistral-medium-latest",
        small_model="mistral-small-latest",
    ),
    ProviderSpec(
        "together",
        "Together AI",
        "https://api.together.xyz/v1",
        ("TOGETHER_API_KEY", "TOGETHERAI_API_KEY"),
        key_page="api.together.ai/settings/api-keys",
        price_list_names=("together_ai",),
    ),
    ProviderSpec(
        "fireworks",
        "Fireworks AI",
        "https://api.fireworks.ai/inference/v1",
        ("FIREWORKS_API_KEY",),
        key_page="app.fireworks.ai/settings/users/api-keys",
        price_list_names=("fireworks_ai",),
    ),
    ProviderSpec(
        "xai",
        "xAI",
        "https://api.x.ai/v1",
        ("XAI_API_KEY",),
        key_page="console.x.ai",
        flagship="grok-4.20-reasoning",
        small_model="grok-4.20-non-reasoning",
    ),
    ProviderSpec(
        "cerebras",
        "Cerebras",
        "https://api.cerebras.ai/v1",
        ("CEREBRAS_API_KEY",),
        key_page="cloud.cerebras.ai",
        flagship="gpt-oss-120b",
        small_model="gpt-oss-120b",
    ),
    ProviderSpec(
        "moonshot",
        "Moonshot AI",
        "https://api.moonshot.ai/v1",
        ("MOONSHOT_API_KEY",),
        key_page="platform.moonshot.ai/console/api-keys",
        flagship="kimi-k3",
        small_model="kimi-k2.5",
    ),
    ProviderSpec(
        "zai",
        "Z.AI",
        "https://api.z.ai/api/paas/v4",
        ("ZAI_API_KEY",),
        key_page="z.ai/manage-apikey/apikey-list",
        flagship="glm-5.3",
        small_model="glm-5.3-flash",
    ),
    ProviderSpec(
        "minimax",
        "MiniMax",
        "https://api.minimax.io/v1",
        ("MINIMAX_API_KEY",),
        key_page="platform.minimax.io",
    ),
    ProviderSpec(
        "alibaba",
        "Alibaba Model Studio",
        "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        ("DASHSCOPE_API_KEY",),
        key_page="modelstudio.console.alibabacloud.com",
        price_list_names=("dashscope",),
        small_model="qwen3.8-flash",
    ),
    ProviderSpec(
        "perplexity",
        "Perplexity",
        "https://api.perplexity.ai",
        ("PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY"),
        key_page="perplexity.ai/account/api/keys",
        small_model="sonar",
    ),
    ProviderSpec(
        "deepinfra",
        "DeepInfra",
        "https://api.deepinfra.com/v1/openai",
        ("DEEPINFRA_API_KEY",),
        key_page="deepinfra.com/dash/api_keys",
    ),
    ProviderSpec(
        "nvidia",
        "NVIDIA NIM",
        "https://integrate.api.nvidia.com/v1",
        ("NVIDIA_API_KEY", "NVIDIA_NIM_API_KEY"),
        key_page="build.nvidia.com/settings/api-keys",
        price_list_names=("nvidia_nim",),
    ),
    ProviderSpec(
        "huggingface",
        "Hugging Face",
        "https://router.huggingface.co/v1",
        ("HF_TOKEN",),
        key_page="huggingface.co/settings/tokens",
    ),
    ProviderSpec(
        "vercel-gateway",
        "Vercel AI Gateway",
        "https://ai-gateway.vercel.sh/v1",
        ("AI_GATEWAY_API_KEY", "VERCEL_AI_GATEWAY_API_KEY"),
        key_page="vercel.com/dashboard (AI Gateway)",
        key_check="/credits",
        price_list_names=("vercel_ai_gateway",),
    ),
    ProviderSpec(
        "cloudflare",
        "Cloudflare Workers AI",
        "https://api.cloudflare.com/client/v4/accounts/${CLOUDFLARE_ACCOUNT_ID}/ai/v1",
        ("CLOUDFLARE_API_KEY", "CLOUDFLARE_API_TOKEN"),
        key_page="dash.cloudflare.com/profile/api-tokens",
    ),
    ProviderSpec(
        "databricks",
        "Databricks",
        "${DATABRICKS_API_BASE}",
        ("DATABRICKS_API_KEY", "DATABRICKS_TOKEN"),
        key_page="your workspace (Settings, Developer, Access tokens)",
    ),
    ProviderSpec(
        "nebius",
        "Nebius",
        "https://api.studio.nebius.com/v1",
        ("NEBIUS_API_KEY",),
        key_page="studio.nebius.com/settings/api-keys",
    ),
    ProviderSpec(
        "sambanova",
        "SambaNova",
        "https://api.sambanova.ai/v1",
        ("SAMBANOVA_API_KEY",),
        key_page="cloud.sambanova.ai/apis",
    ),
    ProviderSpec(
        "novita",
        "Novita",
        "https://api.novita.ai/v3/openai",
        ("NOVITA_API_KEY",),
        key_page="novita.ai/settings/key-management",
    ),
    local("ollama", "Ollama", 11434, "ollama_chat"),
    local("lmstudio", "LM Studio", 1234, "lm_studio"),
    local("llama.cpp", "llama.cpp", 8080, "openai"),
    local("vllm", "vLLM", 8000, "hosted_vllm"),
)

KNOWN_PROVIDERS: Mapping[str, ProviderSpec] = {spec.id: spec for spec in _ALL}

SECRET_VARIABLES = frozenset(name for spec in _ALL for name in spec.key_variables)
"""Every variable that can hold a key of a known provider: commands never get them."""

_HOSTS = {urlsplit(spec.base_url).netloc: spec.id for spec in _ALL if spec.base_url[:5] == "https"}


def known_provider(provider: str, base_url: str) -> str:
    """Return the id of the known provider at *base_url*, else *provider*.

    Users can configure a known provider under another name.
    """
    if provider in KNOWN_PROVIDERS:
        return provider
    try:
        host = urlsplit(base_url).netloc.lower()
    except ValueError:
        return provider
    return _HOSTS.get(host, provider)
