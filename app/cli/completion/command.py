"""The arguments of ``opencode-py completion``. The words come from the commands' own parsers."""

import argparse
import importlib
import sys

from app.cli.completion.scripts import SCRIPTS
from app.cli.completion.vocabulary import Place, places
from app.cli.main import COMMANDS
from app.cli.main import parser as whole
from app.cli.runner import DONE, answer

HOW = """\
bash: add to ~/.bashrc    source <(opencode-py completion bash)
zsh: add to ~/.zshrc      source <(opencode-py completion zsh)
fish:                     opencode-py completion fish > ~/.config/fish/completions/opencode-py.fish
"""


def parser() -> argparse.ArgumentParser:
    """The parser of the words behind ``completion``."""
    made = argparse.ArgumentParser(
        prog="opencode-py completion",
        description="Print a script that completes the words of opencode-py in a shell.",
        epilog=HOW,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("shell", choices=tuple(SCRIPTS), help="the shell that the script is for")
    return made


def main(argv: list[str]) -> int:
    """Print the script and return the exit code: 0 done, 2 wrong usage."""

    def work(given: argparse.Namespace) -> int:
        sys.stdout.write(SCRIPTS[given.shell](known()))
        return DONE

    return answer(parser(), argv, work)


def known() -> list[Place]:
    """Every place of the command line at which words can follow."""
    parsers = {
        name: importlib.import_module(module).parser()
        for name, (module, _) in sorted(COMMANDS.items())
    }
    return places(whole(), parsers)
