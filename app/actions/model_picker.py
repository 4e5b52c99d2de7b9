"""The content of the model picker."""

from collections.abc import Sequence

from agent.provider.catalog.catalog import DEMO_MODEL, Catalog
from agent.provider.catalog.providers import KNOWN_PROVIDERS
from app.screens.base.picker import Row
from app.screens.model import CONNECT_PREFIX, UNCONNECTED, ModelList


def listed_models(catalog: Catalog, only: str = "") -> ModelList:
    """Return what the picker shows: all models, or those of *only* one provider."""
    models = [model for model in catalog.models() if only in ("", model.provider)]
    access = catalog.access
    titles = {model.provider: access.display_name(model.provider) for model in models}
    titles[DEMO_MODEL.provider] = "Demo"
    return ModelList(
        models=models,
        titles=titles,
        recent=catalog.preferences.recent,
        favorites=catalog.preferences.favorites,
        unconnected=() if only else _unconnected(catalog),
    )


def _unconnected(catalog: Catalog) -> list[Row]:
    access = catalog.access
    return [
        Row(
            f"{CONNECT_PREFIX}{name}",
            access.display_name(name),
            _missing_text(catalog, name),
            UNCONNECTED,
        )
        for name in access.provider_ids()
        if not access.is_usable(name) and (access.key_variables(name) or _logins(name))
    ]


def _missing_text(catalog: Catalog, provider: str) -> str:
    """Return what is missing to use *provider*, in a few words."""
    access = catalog.access
    names = access.key_variables(provider)
    if access.key_of(provider):
        return f"also needs {access.missing_variable(provider)}"
    if names:
        return f"needs {names[0]}"
    return f"set {_logins(provider)[0]} in the environment"


def _logins(provider: str) -> Sequence[str]:
    """Return the variables of other logins than a key."""
    spec = KNOWN_PROVIDERS.get(provider)
    return spec.login_variables if spec else ()
