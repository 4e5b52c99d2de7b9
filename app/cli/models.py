"""``opencode-py models``: the models that can be used here, with context window and prices."""

import argparse
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.cli.command_support import (
    FAILED,
    command_parser,
    open_catalog,
    print_table,
    report,
    run_command,
)

if TYPE_CHECKING:
    from agent.provider.catalog.catalog import Catalog
    from agent.provider.catalog.prices import ModelFacts
    from agent.provider.client import ModelInfo
    from agent.provider.client_pool import ClientPool
    from agent.records.errors import OpencodePyError
    from agent.records.json import JsonObject

UNKNOWN = "–"


def parser() -> argparse.ArgumentParser:
    result = command_parser(
        "models",
        "List the models that can be used here, with context window and prices.",
        epilog="Context windows are in tokens, prices ($/M) in US dollars per million tokens; "
        "– means unknown.",
    )
    result.add_argument(
        "provider", nargs="?", metavar="PROVIDER", help="list only this provider's models"
    )
    result.add_argument(
        "--refresh", action="store_true", help="request current lists from the providers"
    )
    result.add_argument("--json", action="store_true", help="print JSON")
    return result


def main(argv: list[str]) -> int:
    return run_command(parser(), argv, _run)


def _run(arguments: argparse.Namespace) -> int:
    import asyncio  # not needed by --help

    return asyncio.run(_list(arguments.provider, arguments))


async def _list(only: str | None, arguments: argparse.Namespace) -> int:
    """List the models, those of one provider if *only* names it."""
    from agent.provider.client_pool import find_local_servers  # loads the agent package

    catalog, notices = await open_catalog()
    await find_local_servers(catalog)
    failures: list[str] = []
    if arguments.refresh and (only is None or only in catalog.access.provider_ids()):
        failures = await _refresh(catalog, [only] if only else catalog.providers())
    models = [model for model in catalog.models() if only in (None, model.provider)]
    for sentence in (*notices, *failures):
        report(sentence)
    if arguments.json:
        print(json.dumps({"models": [_as_json(model) for model in models]}, indent=1))
    elif models:
        _print_table(models)
    failed = bool(only and failures)
    if only and not models and not failed:
        return report(_why_none(catalog, only), FAILED)
    return int(failed)


async def _refresh(catalog: "Catalog", wanted: list[str]) -> list[str]:
    """Request and store the lists of the providers in *wanted*; return the errors as sentences."""
    import asyncio  # not needed by --help

    from agent.provider.catalog.providers import DEMO  # loads the agent package
    from agent.provider.client_pool import ClientPool  # as above
    from agent.records.errors import OpencodePyError  # as above

    local = catalog.model_lists.local_servers
    names = [name for name in wanted if name not in local and name != DEMO]
    clients = ClientPool(catalog)
    try:
        answers = await asyncio.gather(*(_fetch(clients, name) for name in names))
    finally:
        await clients.aclose()
    failures: list[str] = []
    for name, answer in zip(names, answers, strict=True):
        if isinstance(answer, OpencodePyError):
            failures.append(answer.message)
        elif answer:
            catalog.model_lists.store(name, answer)
    return failures


async def _fetch(clients: "ClientPool", provider: str) -> "dict[str, ModelFacts] | OpencodePyError":
    from agent.records.errors import OpencodePyError  # not needed by --help

    try:
        return await clients.fetch_models(provider)
    except OpencodePyError as error:
        return error


def _why_none(catalog: "Catalog", provider: str) -> str:
    access = catalog.access
    if provider not in access.provider_ids():
        return access.key_refusal(provider)
    if not access.is_usable(provider) and access.needs_key(provider):
        return access.missing_key_message(provider)
    if access.is_local(provider):
        return f"No {access.display_name(provider)} server answers at {access.base_url(provider)}."
    return (
        f"No models of {provider} are listed. --refresh requests them; any of its names can be "
        f"used as {provider}/NAME."
    )


def _as_json(model: "ModelInfo") -> "JsonObject":
    price = model.price
    return {
        "model": model.full_name,
        "name": model.name,
        "context": model.context_limit,
        "output": model.output_limit,
        "input_price": price.input if price else None,
        "output_price": price.output if price else None,
        "cache_read_price": price.cache_read if price else None,
        "cache_write_price": price.cache_write if price else None,
        "reasoning": model.reasoning,
        "efforts": list(model.efforts),
        "vision": model.vision,
        "tools": model.tools,
        "transport": "litellm" if model.api == "litellm" else "http",
    }


def _print_table(models: "Sequence[ModelInfo]") -> None:
    from agent.records.amounts import price, tokens  # not needed by --help

    headings = ("MODEL", "CONTEXT", "$/M IN", "$/M OUT", "$/M CACHED")
    rows: list[tuple[str, ...]] = [headings]
    for model in models:
        known = model.price
        context = tokens(model.context_limit) if model.context_limit else UNKNOWN
        prices = (known.input, known.output, known.cache_read) if known else (None, None, None)
        rows.append((model.full_name, context, *map(price, prices)))
    print_table(rows, right_from=1)
