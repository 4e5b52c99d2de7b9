"""``opencode-py models``: the models that can be used here, with context and price."""

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from app.cli.runner import report, run_command

if TYPE_CHECKING:
    from agent.provider.catalog.catalog import Catalog
    from agent.provider.client import ModelInfo
    from agent.records.json import JsonObject

UNKNOWN = "–"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments of ``models``."""
    result = argparse.ArgumentParser(
        prog="opencode-py models",
        description="List the models that can be used here, with context and price.",
        epilog="Prices are US dollars per million tokens; – stands for what is not known.",
        allow_abbrev=False,
    )
    result.add_argument("provider", nargs="?", metavar="PROVIDER", help="only of this provider")
    result.add_argument("--refresh", action="store_true", help="ask the providers for their lists")
    result.add_argument("--json", action="store_true", help="as JSON")
    return result


def main(argv: list[str]) -> int:
    """Run the command and return the exit code: 0 done, 1 failed, 2 wrong usage."""
    return run_command(parser(), argv, _run)


def _run(arguments: argparse.Namespace) -> int:
    from app.cli.model_list import list_models  # loads the agent package

    found = list_models(Path.cwd(), os.environ, arguments.provider, refresh=arguments.refresh)
    for sentence in found.notices:
        report(sentence, 0)
    if arguments.json:
        print(json.dumps({"models": [_as_json(model) for model in found.models]}, indent=1))
    elif found.models:
        _print_table(found.models)
    if not found.models and not found.failed and arguments.provider:
        return report(_why_none(found.catalog, arguments.provider), 1)
    return 1 if found.failed else 0


def _why_none(catalog: "Catalog", provider: str) -> str:
    access = catalog.access
    if provider not in access.provider_ids():
        return access.key_refusal(provider)
    if not access.is_usable(provider) and access.needs_key(provider):
        return access.missing_key_message(provider)
    if access.is_local(provider):
        return f"No {access.display_name(provider)} server answers at {access.base_url(provider)}."
    return (
        f"No models of {provider} are listed. --refresh asks for them; any name of its can be "
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
    from app.text.sanitize import sanitize  # only for the table
    from app.text.units import align_columns, column_widths, price, tokens  # as above

    rows = [("MODEL", "CONTEXT", "INPUT", "OUTPUT", "CACHED")]
    for model in models:
        known = model.price
        rows.append(
            (
                sanitize(model.full_name),
                tokens(model.context_limit) if model.context_limit else UNKNOWN,
                price(known.input if known else None),
                price(known.output if known else None),
                price(known.cache_read if known else None),
            )
        )
    widths = column_widths(rows)
    for row in rows:
        print(align_columns(row, widths, right_from=1))
