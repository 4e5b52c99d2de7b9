"""``opencode-py auth login|list|logout``: the API keys of providers."""

import argparse
import json
import sys
from typing import TYPE_CHECKING

from app.cli.command_support import (
    DONE,
    FAILED,
    USAGE,
    announce_wait,
    command_parser,
    open_catalog,
    report,
    run_command,
)
from app.cli.parser import help_texts

if TYPE_CHECKING:
    from agent.provider.catalog.catalog import Catalog
    from agent.provider.device_login import LoginCode
    from agent.records.json import JsonObject


def parser() -> argparse.ArgumentParser:
    result = command_parser(
        "auth",
        "Store API keys of providers in a file that only you can read.",
        epilog="Environment variables take precedence over stored keys.",
    )
    parts = result.add_subparsers(dest="part", required=True, metavar="PART")
    login = parts.add_parser(
        "login", **help_texts("store a key: log in, type it (it is not shown), or pipe it in")
    )
    login.add_argument("provider", nargs="?", metavar="PROVIDER", help="such as anthropic")
    listed = parts.add_parser(
        "list", **help_texts("list the providers that have a key, and its source")
    )
    listed.add_argument("--all", action="store_true", help="include providers without a key")
    listed.add_argument("--json", action="store_true", help="print JSON")
    logout = parts.add_parser("logout", **help_texts("remove a stored key"))
    logout.add_argument("provider", metavar="PROVIDER", help="such as anthropic")
    return result


def main(argv: list[str]) -> int:
    return run_command(parser(), argv, _run, interrupted_message="Nothing was changed.")


def _run(arguments: argparse.Namespace) -> int:
    import asyncio  # not needed by --help

    catalog, _ = asyncio.run(open_catalog())
    if arguments.part == "login":
        return _login(catalog, arguments.provider)
    if arguments.part == "logout":
        return _logout(catalog, arguments.provider)
    return _list(catalog, everything=arguments.all, as_json=arguments.json)


def _login(catalog: "Catalog", named: str | None) -> int:
    from agent.provider.catalog.keys import key_error  # loads the agent package

    access = catalog.access
    provider = named or _choose_provider(catalog)
    if provider is None:
        return report("Name the provider: opencode-py auth login PROVIDER.", USAGE)
    if refused := access.key_refusal(provider):
        return report(refused, FAILED)
    key = _log_in(catalog, provider) or _read_key(catalog, provider)
    if wrong := key_error(key):
        return report(f"{wrong} Nothing was changed.", FAILED)
    access.keys.put(provider, key)
    found = access.key_of(provider)
    if found.source != "stored":
        place = "the config" if found.source == "config" else found.source
        return report(f"The key is saved, but the one in {place} takes precedence.")
    kept = f"The key of {access.display_name(provider)} is saved."
    return report(f"{kept} opencode-py models {provider} lists its models.")


def _choose_provider(catalog: "Catalog") -> str | None:
    """Return the provider that the user chooses by name or number, None without a terminal."""
    if not sys.stdin.isatty():
        return None
    access = catalog.access
    names = [name for name in access.provider_ids() if not access.key_refusal(name)]
    for number, name in enumerate(names, 1):
        print(f"{number:3}  {name:16}{access.display_name(name)}")
    chosen = input("Provider (name or number): ").strip()
    if chosen.isdecimal() and 1 <= int(chosen) <= len(names):
        return names[int(chosen) - 1]
    return chosen or None


def _log_in(catalog: "Catalog", provider: str) -> str:
    """Return the key from a login with a code, "" where there is none or no user."""
    import asyncio  # not needed by --help

    from agent.provider.client_pool import ClientPool  # loads the agent package
    from app.text.sanitize import sanitize_line

    login = catalog.access.device_login(provider)
    if login is None or not sys.stdin.isatty():
        return ""

    async def show(code: "LoginCode") -> None:
        page, text = sanitize_line(code.page), sanitize_line(code.user_code)
        print(f"Open {page} in a browser and enter the code {text}", flush=True)
        print("Waiting for the login; Ctrl+C cancels.", flush=True)

    async def log_in() -> str:
        clients = ClientPool(catalog)
        try:
            return await clients.log_in(provider, login, show)
        finally:
            await clients.aclose()

    return asyncio.run(log_in())


def _read_key(catalog: "Catalog", provider: str) -> str:
    """Return the key: typed without echo, or the first line of standard input."""
    if not sys.stdin.isatty():
        announce_wait(sys.stdin, "Waiting for the key on standard input.")
        return sys.stdin.readline().strip()
    import getpass  # for a terminal only

    at = catalog.access.key_page(provider)
    if at:
        print(f"Create keys at {at}.")
    return getpass.getpass(
        f"API key of {catalog.access.display_name(provider)} (not shown): "
    ).strip()


def _logout(catalog: "Catalog", provider: str) -> int:
    if not catalog.access.keys.remove(provider):
        return report(f"There is no stored key of {provider}. auth list shows all.", FAILED)
    left = catalog.access.key_of(provider)
    more = f" The one in {left.source} is still used." if left else ""
    return report(f"The key of {provider} is removed.{more}")


def _list(catalog: "Catalog", *, everything: bool, as_json: bool) -> int:
    """List the providers that have a key or a login; with *everything*, all known ones."""
    from app.text.sanitize import sanitize  # not needed by --help

    access = catalog.access
    rows = [_key_facts(catalog, provider) for provider in access.provider_ids()]
    rows = [row for row in rows if everything or row["source"]]
    if as_json:
        print(json.dumps({"providers": rows}, indent=1))
        return DONE
    if not rows:
        print("No provider has a key. opencode-py auth login PROVIDER saves one.")
    width = max((len(str(row["provider"])) for row in rows), default=0) + 2
    for row in rows:
        provider, title = str(row["provider"]), row["name"]
        text = f"{title}   {row['source']}   {row['tail'] or ''}".rstrip()
        if not row["source"]:
            names = " or ".join(access.key_variables(provider))
            needed = f"needs {names}" if names and access.needs_key(provider) else "no key needed"
            text = f"{title}   {needed}"
        print(f"{sanitize(provider):{width}}{sanitize(text)}")
    fault = getattr(access.keys, "fault", "")
    return report(fault, FAILED) if fault else DONE


def _key_facts(catalog: "Catalog", provider: str) -> "JsonObject":
    """Return the source of a provider's key or login, with the last characters of the key."""
    from agent.provider.catalog.keys import mask_key  # loads the agent package

    found = catalog.access.key_of(provider)
    return {
        "provider": provider,
        "name": catalog.access.display_name(provider),
        "source": (found.source if found else catalog.access.login_of(provider)) or None,
        "tail": mask_key(found.key) or None if found else None,
    }
