"""Conversion of the config's models to settings of the catalog."""

from agent.config.settings_schema import CostConfig, ModelConfig, ProviderConfig, TierConfig
from agent.provider.catalog.from_config import provider_settings
from agent.provider.client import Price


def price(cost: CostConfig | None) -> Price | None:
    given = ProviderConfig(models={"m": ModelConfig(cost=cost, efforts=("low",))})
    made = provider_settings("acme", given).models["m"]
    assert made.efforts == ("low",)
    return made.price


def test_prices_of_the_config_have_a_tier_for_long_prompts() -> None:
    assert price(None) is None
    assert price(CostConfig(input=1)) is None
    assert price(CostConfig(input=1, output=2, cache_read=0.1)) == Price(1, 2, 0.1)
    long = TierConfig(input=3, cache_write=4)
    assert price(CostConfig(input=1, output=2, cache_read=0.1, context_over_200k=long)) == Price(
        1, 2, 0.1, beyond=200_000, then=Price(3, 2, 0.1, 4)
    )
