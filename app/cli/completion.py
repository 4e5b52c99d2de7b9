"""``opencode-py completion``: scripts that complete the command line in a shell.

shtab writes them from the parsers of the commands. For models and sessions the scripts call this
command, which prints the names.
"""

import argparse
import asyncio
import importlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from app.cli.command_support import DONE, command_parser, open_catalog, run_command, run_with_store
from app.cli.main import COMMANDS, add_options
from app.cli.parser import RawHelpFormatter

if TYPE_CHECKING:
    from agent.store.store import Store

SHELLS = ("bash", "zsh", "fish")
NAMES = ("models", "sessions")

MAX_SESSIONS = 50

_NAMED_BY = {"model": "models", "session": "sessions", "id": "sessions"}
_PATHS = {"PATH": "file", "FILE": "file", "FOLDER": "directory"}

USAGE_HINTS = """\
bash: add to ~/.bashrc    source <(opencode-py completion bash)
zsh: add to ~/.zshrc      source <(opencode-py completion zsh)
fish:                     opencode-py completion fish > ~/.config/fish/completions/opencode-py.fish
"""


def parser() -> argparse.ArgumentParser:
    result = command_parser(
        "completion",
        "Print a script that completes commands, options, models and sessions in a shell.",
        epilog=USAGE_HINTS,
        formatter_class=RawHelpFormatter,
    )
    result.add_argument(
        "shell",
        choices=(*SHELLS, *NAMES),
        help="the shell; models and sessions print the names that the script offers",
    )
    return result


def main(argv: list[str]) -> int:
    """Print the script or the names and return the exit code: 0 done, 2 wrong usage."""
    if argv == ["sessions"]:
        return run_with_store(parser(), argv, _print_sessions)

    def work(arguments: argparse.Namespace) -> int:
        if arguments.shell == "models":
            catalog, _ = asyncio.run(open_catalog())
            print("\n".join(model.full_name for model in catalog.models()))
        else:
            sys.stdout.write(script(arguments.shell))
        return DONE

    return run_command(parser(), argv, work)


async def _print_sessions(store: "Store", arguments: argparse.Namespace) -> None:
    from agent.store.listing import SessionScope  # loads the agent package

    listed = await store.session_list(SessionScope(None))
    print("\n".join(line.id for line in listed[:MAX_SESSIONS]))


def script(shell: str) -> str:
    """Return the script for *shell*."""
    import shtab  # only here

    return shtab.complete(whole_parser(), shell)


def whole_parser() -> argparse.ArgumentParser:
    """Return one parser of all commands, whose arguments know how they are completed."""
    root = argparse.ArgumentParser(prog="opencode-py")
    commands = root.add_subparsers(metavar="COMMAND")
    for name, (module, about) in sorted(COMMANDS.items()):
        own = importlib.import_module(module).parser()
        made = commands.add_parser(name, parents=[own], add_help=False, help=about)
        made.description = own.description
    add_options(root)
    for each in (root, *_below(root)):
        for action in _actions(each):
            _complete(action)
    return root


def _complete(action: argparse.Action) -> None:
    """Set what completes the value of *action*, where it is no choice."""
    import shtab  # only here

    if action.choices is not None or action.nargs == 0:
        return
    if kind := _NAMED_BY.get(action.dest):
        vars(action)["complete"] = shtab.cmd(f"opencode-py completion {kind}")
    elif isinstance(action.metavar, str) and (path := _PATHS.get(action.metavar)):
        vars(action)["complete"] = shtab.CHOICE_FUNCTIONS[path]


def _below(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    for action in _actions(parser):
        if isinstance(action.choices, dict):
            for each in cast("dict[str, argparse.ArgumentParser]", action.choices).values():
                yield each
                yield from _below(each)


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    # argparse has no public way to list the arguments of a parser.
    return parser._actions  # pyright: ignore[reportPrivateUsage] - see above
