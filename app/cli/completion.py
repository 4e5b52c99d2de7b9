"""``opencode-py completion``: scripts that complete the command line in a shell.

The words are read from the parsers of the commands.
"""

import argparse
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import cast

from app.cli.main import COMMANDS
from app.cli.main import parser as main_parser
from app.cli.runner import DONE, command_parser, run_command


@dataclass(frozen=True, slots=True)
class CompletionWord:
    """A command or an option, with its description."""

    text: str
    about: str
    values: tuple[str, ...] = ()
    """The values that can follow an option."""


@dataclass(frozen=True, slots=True)
class CommandWords:
    """The words that can follow a command."""

    path: tuple[str, ...]
    """The command and its subcommands, such as ``("mcp", "add")``."""
    words: tuple[CompletionWord, ...]


def all_command_words(
    root: argparse.ArgumentParser, commands: Mapping[str, argparse.ArgumentParser]
) -> list[CommandWords]:
    """Return the words after every command, the outermost command first."""
    named = [CompletionWord(name, _about(parser)) for name, parser in commands.items()]
    found = [CommandWords((), (*named, *_words(root)))]
    for name, parser in commands.items():
        found += _below((name,), parser)
    return found


def _below(path: tuple[str, ...], parser: argparse.ArgumentParser) -> Iterator[CommandWords]:
    yield CommandWords(path, tuple(_words(parser)))
    for name, below in _commands(parser):
        yield from _below((*path, name), below)


def _words(parser: argparse.ArgumentParser) -> Iterator[CompletionWord]:
    for name, below in _commands(parser):
        yield CompletionWord(name, _about(below))
    for action in _actions(parser):
        values = tuple(str(each) for each in action.choices or () if action.option_strings)
        for text in action.option_strings:
            yield CompletionWord(text, _line(action.help), values)
        if not action.option_strings and not isinstance(action.choices, dict | None):
            yield from (CompletionWord(str(each), _line(action.help)) for each in action.choices)


def _commands(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in _actions(parser):
        if isinstance(action.choices, dict):
            yield from cast("dict[str, argparse.ArgumentParser]", action.choices).items()


def _actions(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    # argparse has no public way to list the arguments of a parser.
    return parser._actions  # pyright: ignore[reportPrivateUsage] - see above


def _about(parser: argparse.ArgumentParser) -> str:
    return _line(parser.description)


def _line(text: str | None) -> str:
    """Return *text* as one short line."""
    return " ".join((text or "").split()).partition(". ")[0].rstrip(".")


BASH = """\
# Completes the words of opencode-py in bash; files where no word fits.
_opencode_py() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} path="" words="" i
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$path/${{COMP_WORDS[i]}}" in
            {paths}) path="$path/${{COMP_WORDS[i]}}" ;;
        esac
    done
    case "$path $before" in
{values}
        *) case "$path" in
{words}
        esac ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o bashdefault -o default -F _opencode_py opencode-py
"""

ZSH = """\
#compdef opencode-py
# Completes the words of opencode-py in zsh; files where no word fits.
_opencode_py() {{
    local where="" before=${{words[CURRENT-1]}} i
    local -a offered
    for ((i = 2; i < CURRENT; i++)); do
        case "$where/${{words[i]}}" in
            {paths}) where="$where/${{words[i]}}" ;;
        esac
    done
    case "$where $before" in
{values}
        *) case "$where" in
{words}
        esac ;;
    esac
    _describe 'opencode-py' offered || _files
}}
compdef _opencode_py opencode-py
"""

FISH = """\
# Completes the words of opencode-py in fish; files where no word fits.
function __opencode_py_at
    set -l where ""
    for word in (commandline -opc)[2..]
        if contains -- "$where/$word" {paths}
            set where "$where/$word"
        end
    end
    test "$where" = "$argv[1]"
end
"""


def bash(commands: Iterable[CommandWords]) -> str:
    known = list(commands)
    return BASH.format(
        paths=_paths(known, "|"),
        values="\n".join(
            f"        {quote(f'{_path(command)} {word.text}')}) "
            f"words={quote(' '.join(word.values))} ;;"
            for command in known
            for word in command.words
            if word.values
        ),
        words="\n".join(
            f"            {quote(_path(command))}) "
            f"words={quote(' '.join(word.text for word in command.words))} ;;"
            for command in known
        ),
    )


def zsh(commands: Iterable[CommandWords]) -> str:
    known = list(commands)

    def offered(words: Iterable[tuple[str, str]]) -> str:
        entries = (f"{text}:{about}".rstrip(":") for text, about in words)
        return f"offered=({' '.join(map(quote, entries))}) ;;"

    return ZSH.format(
        paths=_paths(known, "|"),
        values="\n".join(
            f"        {quote(f'{_path(command)} {word.text}')}) "
            + offered((value, "") for value in word.values)
            for command in known
            for word in command.words
            if word.values
        ),
        words="\n".join(
            f"            {quote(_path(command))}) "
            + offered((word.text, word.about) for word in command.words)
            for command in known
        ),
    )


def fish(commands: Iterable[CommandWords]) -> str:
    known = list(commands)
    return FISH.format(paths=_paths(known, " ")) + "".join(f"{line}\n" for line in _fish(known))


SCRIPTS: dict[str, Callable[[Iterable[CommandWords]], str]] = {
    "bash": bash,
    "zsh": zsh,
    "fish": fish,
}
"""The function that makes each shell's script."""


def _fish(commands: Iterable[CommandWords]) -> Iterator[str]:
    for command in commands:
        at = f"complete -c opencode-py -n {quote(f'__opencode_py_at {quote(_path(command))}')}"
        if command.path and any(not word.text.startswith("-") for word in command.words):
            yield f"{at} -f"  # a word follows, not a file
        for word in command.words:
            about = f" -d {quote(word.about)}" if word.about else ""
            if not word.text.startswith("-"):
                yield f"{at} -a {quote(word.text)}{about}"
                continue
            kind = "-l" if word.text.startswith("--") else "-s"
            values = f" -xa {quote(' '.join(word.values))}" if word.values else ""
            yield f"{at} {kind} {quote(word.text.lstrip('-'))}{values}{about}"


def _path(command: CommandWords) -> str:
    return "".join(f"/{word}" for word in command.path)


def _paths(commands: Iterable[CommandWords], between: str) -> str:
    return between.join(quote(_path(command)) for command in commands if command.path)


USAGE_HINTS = """\
bash: add to ~/.bashrc    source <(opencode-py completion bash)
zsh: add to ~/.zshrc      source <(opencode-py completion zsh)
fish:                     opencode-py completion fish > ~/.config/fish/completions/opencode-py.fish
"""


def parser() -> argparse.ArgumentParser:
    result = command_parser(
        "completion",
        "Print a script that completes the words of opencode-py in a shell.",
        epilog=USAGE_HINTS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    result.add_argument("shell", choices=tuple(SCRIPTS), help="the shell that the script is for")
    return result


def main(argv: list[str]) -> int:
    """Print the script and return the exit code: 0 done, 2 wrong usage."""

    def work(arguments: argparse.Namespace) -> int:
        sys.stdout.write(SCRIPTS[arguments.shell](installed_command_words()))
        return DONE

    return run_command(parser(), argv, work)


def installed_command_words() -> list[CommandWords]:
    """Return the words after every command of the program."""
    parsers = {
        name: importlib.import_module(module).parser()
        for name, (module, _) in sorted(COMMANDS.items())
    }
    return all_command_words(main_parser(), parsers)
