"""The completion scripts of the three shells, made of the words of the command line."""

from collections.abc import Callable, Iterable, Iterator
from shlex import quote

from app.cli.completion.vocabulary import Place

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


def bash(places: Iterable[Place]) -> str:
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


def zsh(places: Iterable[Place]) -> str:
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


def fish(places: Iterable[Place]) -> str:
    """The script for fish."""
    known = list(places)
    return FISH.format(paths=_paths(known, " ")) + "".join(f"{line}\n" for line in _fish(known))


SCRIPTS: dict[str, Callable[[Iterable[Place]], str]] = {"bash": bash, "zsh": zsh, "fish": fish}
"""The maker of each shell's script, by the shell's name."""


def _fish(places: Iterable[Place]) -> Iterator[str]:
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


def _path(place: Place) -> str:
    return "".join(f"/{word}" for word in place.path)


def _paths(places: Iterable[Place], between: str) -> str:
    return between.join(quote(_path(place)) for place in places if place.path)
