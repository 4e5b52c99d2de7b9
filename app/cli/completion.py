"""The completion scripts of the three shells, made of the words of the command line."""

import argparse
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import cast

from app.cli.main import COMMANDS
from app.cli.main import parser as whole
from app.cli.runner import DONE, run_command


@dataclass(frozen=True, slots=True)
class Word:
    """A command or a flag, with what it is for. *values* are those that may follow a flag."""

    text: str
    about: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandWords:
    """The words behind the commands *path*, such as ``("mcp", "add")``."""

    path: tuple[str, ...]
    words: tuple[Word, ...]


def all_command_words(
    root: argparse.ArgumentParser, commands: Mapping[str, argparse.ArgumentParser]
) -> list[CommandWords]:
    """The places of the whole command line, the outermost first."""
    named = [Word(name, _about(parser)) for name, parser in commands.items()]
    found = [CommandWords((), (*named, *_words(root)))]
    for name, parser in commands.items():
        found += _below((name,), parser)
    return found


def _below(path: tuple[str, ...], parser: argparse.ArgumentParser) -> Iterator[CommandWords]:
    yield CommandWords(path, tuple(_words(parser)))
    for name, below in _commands(parser):
        yield from _below((*path, name), below)


def _words(parser: argparse.ArgumentParser) -> Iterator[Word]:
    for name, below in _commands(parser):
        yield Word(name, _about(below))
    for action in _actions(parser):
        values = tuple(str(each) for each in action.choices or () if action.option_strings)
        for text in action.option_strings:
            yield Word(text, _line(action.help), values)
        if not action.option_strings and not isinstance(action.choices, dict | None):
            yield from (Word(str(each), _line(action.help)) for each in action.choices)


def _commands(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for action in _actions(parser):
        if isinstance(action.choices, dict):
            yield from cast("dict[str, argparse.ArgumentParser]", action.choices).items()


def _actions(parser: argparse.ArgumentParser) -> Iterable[argparse.Action]:
    # argparse has no other way to look at what was added to a parser.
    return parser._actions  # pyright: ignore[reportPrivateUsage] - see above


def _about(parser: argparse.ArgumentParser) -> str:
    return _line(parser.description)


def _line(text: str | None) -> str:
    """*text* as one short line."""
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


def bash(places: Iterable[CommandWords]) -> str:
    """The script for bash."""
    known = list(places)
    return BASH.format(
        paths=_paths(known, "|"),
        values="\n".join(
            f"        {quote(f'{_path(place)} {word.text}')}) "
            f"words={quote(' '.join(word.values))} ;;"
            for place in known
            for word in place.words
            if word.values
        ),
        words="\n".join(
            f"            {quote(_path(place))}) "
            f"words={quote(' '.join(word.text for word in place.words))} ;;"
            for place in known
        ),
    )


def zsh(places: Iterable[CommandWords]) -> str:
    """The script for zsh."""
    known = list(places)

    def offered(words: Iterable[tuple[str, str]]) -> str:
        entries = (f"{text}:{about}".rstrip(":") for text, about in words)
        return f"offered=({' '.join(map(quote, entries))}) ;;"

    return ZSH.format(
        paths=_paths(known, "|"),
        values="\n".join(
            f"        {quote(f'{_path(place)} {word.text}')}) "
            + offered((value, "") for value in word.values)
            for place in known
            for word in place.words
            if word.values
        ),
        words="\n".join(
            f"            {quote(_path(place))}) "
            + offered((word.text, word.about) for word in place.words)
            for place in known
        ),
    )


def fish(places: Iterable[CommandWords]) -> str:
    """The script for fish."""
    known = list(places)
    return FISH.format(paths=_paths(known, " ")) + "".join(f"{line}\n" for line in _fish(known))


SCRIPTS: dict[str, Callable[[Iterable[CommandWords]], str]] = {
    "bash": bash,
    "zsh": zsh,
    "fish": fish,
}
"""The maker of each shell's script, by the shell's name."""


def _fish(places: Iterable[CommandWords]) -> Iterator[str]:
    for place in places:
        at = f"complete -c opencode-py -n {quote(f'__opencode_py_at {quote(_path(place))}')}"
        if place.path and any(not word.text.startswith("-") for word in place.words):
            yield f"{at} -f"  # a word of these follows, no file
        for word in place.words:
            about = f" -d {quote(word.about)}" if word.about else ""
            if not word.text.startswith("-"):
                yield f"{at} -a {quote(word.text)}{about}"
                continue
            kind = "-l" if word.text.startswith("--") else "-s"
            values = f" -xa {quote(' '.join(word.values))}" if word.values else ""
            yield f"{at} {kind} {quote(word.text.lstrip('-'))}{values}{about}"


def _path(place: CommandWords) -> str:
    return "".join(f"/{word}" for word in place.path)


def _paths(places: Iterable[CommandWords], between: str) -> str:
    return between.join(quote(_path(place)) for place in places if place.path)


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
        sys.stdout.write(SCRIPTS[given.shell](installed_command_words()))
        return DONE

    return run_command(parser(), argv, work)


def installed_command_words() -> list[CommandWords]:
    """Every place of the command line at which words can follow."""
    parsers = {
        name: importlib.import_module(module).parser()
        for name, (module, _) in sorted(COMMANDS.items())
    }
    return all_command_words(whole(), parsers)
