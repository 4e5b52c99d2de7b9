"""Models and providers of the catalog: names, limits, keys, defaults."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent.provider.catalog.catalog import Catalog, ModelSettings, ProviderSettings
from agent.provider.catalog.model_order import split_current
from agent.provider.catalog.prices import PriceList
from agent.provider.catalog.providers import KNOWN_PROVIDERS
from agent.provider.client import Price
from agent.provider.client_pool import ClientPool
from agent.records.errors import ConfigError, MissingKey, ModelNotFound


def catalog(*settings: ProviderSettings, default: str | None = None, **env: str) -> Catalog:
    return Catalog({s.id: s for s in settings}, default, env)


def test_demo_is_the_default_when_nothing_is_configured() -> None:
    empty = catalog()
    assert empty.default_model() == "demo/offline"
    assert empty.model("demo/offline").api == "demo"
    assert [model.full_name for model in empty.models()] == ["demo/offline"]


def test_the_default_is_the_configured_model_then_a_usable_one() -> None:
    own = ProviderSettings(id="acme", base_url="http://x/v1", models={"a/b": ModelSettings()})
    assert catalog(own, default="groq/x").default_model() == "groq/x"
    assert catalog(own, OPENAI_API_KEY="k").default_model() == "acme/a/b"
    assert catalog(OPENAI_API_KEY="k").default_model().startswith("openai/")
    assert catalog(OPENAI_API_KEY=" ").default_model() == "demo/offline"


def test_only_the_first_slash_splits() -> None:
    model = catalog().model("openrouter/vendor/some-model:free")
    assert (model.provider, model.id) == ("openrouter", "vendor/some-model:free")
    assert model.full_name == "openrouter/vendor/some-model:free"


def test_any_model_of_a_known_provider_is_accepted_with_unknown_limits() -> None:
    model = catalog().model("openai/not-yet-invented")
    assert (model.context_limit, model.output_limit, model.price) == (None, None, None)
    assert model.tools
    assert model.base_url == "https://api.openai.com/v1"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("opnai/gpt-5.4", "openai/gpt-5.4"),
        ("nobody/x", "provider.nobody"),
        ("openai/", "provider/model"),
        ("openai", "openai/"),
        ("", "provider/model"),
        ("demo/online", "demo/offline"),
        ("mygpt", "acme/mygpt"),
    ],
)
def test_unknown_models_are_refused_with_the_nearest_names(name: str, hint: str) -> None:
    own = ProviderSettings(id="acme", base_url="http://x", models={"mygpt": ModelSettings()})
    with pytest.raises(ModelNotFound) as caught:
        catalog(own).model(name)
    assert hint in str(caught.value)


def test_limits_and_prices_come_from_the_installed_list() -> None:
    model = catalog().model("google/gemini-2.5-pro")
    assert model.context_limit == 1_048_576
    assert model.vision
    assert model.efforts
    assert model.price == Price(1.25, 10, 0.125, None, 200_000, Price(2.5, 15, 0.25, None))


def test_every_flagship_is_a_current_model() -> None:
    keys = {spec.key_variables[0]: "k" for spec in KNOWN_PROVIDERS.values() if spec.key_variables}
    models = catalog(**keys).models()
    for spec in KNOWN_PROVIDERS.values():
        own = [model for model in models if model.provider == spec.id]
        if spec.flagship and own:
            current, _ = split_current(own)
            assert spec.flagship in {model.id for model in current}, spec.id


def test_every_flagship_and_small_model_is_in_the_list() -> None:
    prices = PriceList()
    named = [
        (spec, name)
        for spec in KNOWN_PROVIDERS.values()
        for name in (spec.flagship, spec.small_model)
        if name
    ]
    assert named
    for spec, name in named:
        assert any(name in prices.models(listed) for listed in spec.price_list_names), (
            f"{spec.id}/{name}"
        )


def test_the_list_is_read_without_importing_litellm() -> None:
    code = (
        "import sys; from agent.provider.catalog.catalog import Catalog\n"
        "Catalog({}, None, {'OPENAI_API_KEY': 'k'}).models()\n"
        "from agent.provider.client_pool import ClientPool\n"
        "bad = {'litellm', 'httpx2', 'textual', 'rich'} & set(sys.modules)\n"
        "sys.exit(str(bad) if bad else 0)"
    )
    root = Path(__file__).parents[4]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("content", [None, "", "{", "[1]", '{"x": 1, "y": {"mode": "chat"}}'])
def test_a_missing_or_broken_price_list_means_unknown_facts(
    tmp_path: Path, content: str | None
) -> None:
    path = tmp_path / "prices.json"
    if content is not None:
        path.write_text(content)
    known = Catalog({}, None, {}, PriceList(path))
    assert known.model("openai/gpt-4o").context_limit is None


def test_a_price_of_zero_means_unknown_and_other_modes_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    entry = {"litellm_provider": "openai", "mode": "chat", "max_input_tokens": 5}
    free = {**entry, "input_cost_per_token": 0, "output_cost_per_token": 0}
    path.write_text(json.dumps({"a": free, "b": {**entry, "mode": "embedding"}}))
    models = PriceList(path).models("openai")
    assert set(models) == {"a"}
    assert models["a"].price is None
    assert models["a"].context_limit == 5


def test_tiers_of_every_form_are_read(tmp_path: Path) -> None:
    path = tmp_path / "prices.json"
    entry = {"litellm_provider": "openai", "mode": "chat"}

    def of(**more: float) -> dict[str, float]:
        return {f"{name}_cost_per_token": dollars / 1e6 for name, dollars in more.items()}

    by_name = {
        **entry,
        **of(input=1, output=2),
        "input_cost_per_token_above_32k_tokens": 3e-6,
        "input_cost_per_token_above_128k_tokens": 5e-6,
        "output_cost_per_token_above_128k_tokens": 6e-6,
    }
    tiers = [
        {**of(input=1, output=2), "output_cost_per_reasoning_token": 4e-6, "range": [0, 1e5]},
        {**of(input=3, output=4), "range": [1e5, 1e6]},
    ]
    path.write_text(json.dumps({"a": by_name, "b": {**entry, "tiered_pricing": tiers}}))
    models = PriceList(path).models("openai")
    last = Price(5, 6)
    assert models["a"].price == Price(
        1, 2, beyond=32_000, then=Price(3, 2, beyond=128_000, then=last)
    )
    assert models["b"].price == Price(1, 2, beyond=100_000, then=Price(3, 4), reasoning=4)


@pytest.mark.parametrize(
    ("name", "efforts"),
    [
        ("anthropic/claude-opus-4-7", "none low medium high xhigh max"),
        ("anthropic/claude-sonnet-5-5", "low medium high xhigh max"),
        ("anthropic/claude-sonnet-4-5", "none low medium high max"),
        ("google/gemini-2.5-pro", "low medium high max"),
        ("google/gemini-2.5-flash", "none low medium high max"),
        ("google/gemini-3.8-flash", "low medium high"),
        ("openai/gpt-5.4", "none low medium high xhigh"), ("openai/gpt-4o", ""),
        ("moonshot/kimi-k3", "low high max"), ("moonshot/kimi-k2.6", "none high"),
        ("zai/glm-5.3", "none high"), ("deepseek/deepseek-v4-pro", "none high max"),
        ("mistral/mistral-medium-latest", "none high"), ("mistral/magistral-medium-latest", ""),
        ("groq/openai/gpt-oss-120b", "low medium high"), ("alibaba/qwen3-max", "none high"),
        ("bedrock/us.anthropic.claude-opus-4-6-v1", "none low medium high max"),
    ],
)  # fmt: skip
def test_each_model_has_its_levels(name: str, efforts: str) -> None:
    assert " ".join(catalog().model(name).efforts) == efforts


def test_a_renamed_provider_is_recognized_by_its_address() -> None:
    own = ProviderSettings(id="mine", base_url="https://api.moonshot.ai/v1")
    model = catalog(own).model("mine/kimi-k3")
    assert (model.efforts, model.price is None) == (("low", "high", "max"), False)


def test_config_wins_over_the_list() -> None:
    own = ModelSettings(
        name="Mine", context_limit=7, vision=False, temperature=True, price=Price(1, 2)
    )
    model = catalog(ProviderSettings(id="openai", models={"gpt-5.4": own})).model("openai/gpt-5.4")
    assert (model.name, model.context_limit, model.vision) == ("Mine", 7, False)
    assert model.price == Price(1, 2)
    assert model.temperature
    assert model.output_limit is not None


def test_openai_reasoning_models_take_no_temperature() -> None:
    assert not catalog().model("openai/gpt-5.4").temperature
    assert catalog().model("openai/gpt-4o").temperature
    assert catalog().model("groq/gpt-5-like").temperature


def test_wire_id_finds_the_facts() -> None:
    own = {"fast": ModelSettings(wire_id="gpt-4o")}
    model = catalog(ProviderSettings(id="openai", models=own)).model("openai/fast")
    assert (model.id, model.wire_id) == ("fast", "gpt-4o")
    assert model.context_limit


def test_models_of_usable_providers_are_listed_with_the_demo_last() -> None:
    own = ProviderSettings(id="acme", base_url="http://x", models={"m": ModelSettings()})
    names = [model.full_name for model in catalog(own, GROQ_API_KEY="k").models()]
    assert names[0] == "acme/m"
    assert "groq/openai/gpt-oss-120b" in names
    assert names[-1] == "demo/offline"
    assert not [name for name in names if name.startswith("openai/")]


def test_a_missing_key_names_the_variable() -> None:
    known = catalog()
    with pytest.raises(MissingKey) as caught:
        ClientPool(known).client_for(known.model("google/gemini-pro-latest"))
    said = str(caught.value)
    assert "GEMINI_API_KEY or GOOGLE_API_KEY" in said
    assert "opencode-py auth login google" in said
    assert "aistudio.google.com/apikey" in said


def test_a_configured_key_variable_is_named_and_read() -> None:
    own = ProviderSettings(id="acme", base_url="http://x", key_variables=("ACME_KEY",))
    with pytest.raises(MissingKey, match="ACME_KEY"):
        ClientPool(catalog(own)).client_for(catalog(own).model("acme/m"))
    assert catalog(own, ACME_KEY="k").access.key_of("acme").key == "k"


def test_a_configured_key_wins_and_a_configured_base_url_needs_none() -> None:
    own = ProviderSettings(id="openai", api_key="mine")
    assert catalog(own, OPENAI_API_KEY="k").access.key_of("openai").key == "mine"
    local = ProviderSettings(id="openai", base_url="http://127.0.0.1:1/v1")
    assert not catalog(local).access.needs_key("openai")


def test_a_key_of_the_environment_is_not_sent_to_a_projects_base_url() -> None:
    own = ProviderSettings(id="openai", base_url="http://evil.example", user_keys=False)
    assert not catalog(own, OPENAI_API_KEY="k").access.key_of("openai")


def test_an_invalid_key_is_refused_without_showing_it() -> None:
    own = ProviderSettings(id="openai", api_key="sk-\u201csecret\u201d")
    with pytest.raises(MissingKey) as caught:
        ClientPool(catalog(own)).client_for(catalog(own).model("openai/m"))
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(own)


REQUIRED = (
    "anthropic", "openai", "azure", "google", "vertex", "bedrock", "openrouter", "mistral", "groq",
    "together", "fireworks", "deepseek", "xai", "cohere", "cerebras", "perplexity",
    "github-copilot", "github-models", "ollama", "lmstudio", "llama.cpp", "vllm", "watsonx",
    "sagemaker", "replicate",
)  # fmt: skip


def test_the_table_has_every_required_provider() -> None:
    assert set(REQUIRED) <= KNOWN_PROVIDERS.keys()
    for spec in KNOWN_PROVIDERS.values():
        assert spec.local or spec.key_variables or spec.login_variables, spec.id
        assert spec.local or spec.key_page, spec.id


def test_several_price_list_names_are_one_provider() -> None:
    names = catalog(GOOGLE_VERTEX_API_KEY="k").models()
    vertex = {model.id for model in names if model.provider == "vertex"}
    assert {"gemini-2.5-pro", "claude-haiku-4-5"} <= vertex


@pytest.mark.parametrize(
    ("env", "api"),
    [
        ({"AWS_BEARER_TOKEN_BEDROCK": "k", "AWS_REGION": "eu-west-1"}, "bedrock"),
        ({"AWS_PROFILE": "work"}, "litellm"),
        ({"AWS_PROFILE": "work", "AWS_BEARER_TOKEN_BEDROCK": "k"}, "bedrock"),
    ],
)
def test_another_login_than_a_key_goes_through_litellm(env: dict[str, str], api: str) -> None:
    assert catalog(**env).model("bedrock/amazon.nova-lite-v1:0").api == api


def test_any_provider_can_be_configured_to_use_litellm() -> None:
    known = catalog(ProviderSettings(id="openai", transport="litellm", api_key="k"))
    assert known.model("openai/gpt-4o").api == "litellm"
    assert known.model("openai/gpt-4o").context_limit
    own = catalog(ProviderSettings(id="ai21", transport="litellm", api_key="k"))
    assert own.access.is_usable("ai21")
    assert any(model.provider == "ai21" for model in own.models())


def test_an_unrelated_login_chooses_no_default_model() -> None:
    env = {"AWS_PROFILE": "work", "GOOGLE_APPLICATION_CREDENTIALS": "/x.json"}
    assert "vertex" in catalog(**env).providers()
    assert catalog(**env).default_model() == "demo/offline"
    assert catalog(**env, GROQ_API_KEY="k").default_model().startswith("groq/")


def test_the_small_model_is_the_providers_unless_the_config_names_one() -> None:
    assert catalog().small_model("anthropic") == "anthropic/claude-haiku-5-5"
    own = ProviderSettings(id="anthropic", small_model="tiny")
    assert catalog(own).small_model("anthropic") == "anthropic/tiny"
    assert catalog().small_model("ollama") is None
    assert catalog().small_model("demo") is None


def test_placeholder_in_a_base_url_is_filled_or_named() -> None:
    env = {"AZURE_API_KEY": "k"}
    with pytest.raises(MissingKey, match="AZURE_RESOURCE_NAME"):
        ClientPool(catalog(**env)).client_for(catalog(**env).model("azure/m"))
    filled = catalog(**env, AZURE_RESOURCE_NAME="corp")
    assert filled.model("azure/m").base_url == "https://corp.openai.azure.com/openai/v1"
    assert "azure" in filled.providers()


def test_a_provider_without_address_is_reported() -> None:
    own = catalog(ProviderSettings(id="acme"))
    with pytest.raises(MissingKey, match=r"options\.baseURL"):
        ClientPool(own).client_for(own.model("acme/m"))


async def test_one_client_is_created_per_provider() -> None:
    own = catalog(ProviderSettings(id="acme", base_url="http://x"))
    clients = ClientPool(own)
    assert clients.client_for(own.model("acme/a")) is clients.client_for(own.model("acme/b"))
    await clients.aclose()


def test_unusable_certificates_are_named(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_text("nonsense")
    own = catalog(ProviderSettings(id="acme", base_url="http://x", ca=str(path)))
    with pytest.raises(ConfigError, match=r"ca\.pem"):
        ClientPool(own).client_for(own.model("acme/m"))
