"""Other spellings of a command, which deny rules look at too."""

from agent.permission.programs import git_arguments, inner_commands
from agent.permission.programs.options_to_name import names_without_options
from agent.permission.programs.record import Program
from agent.permission.shell.simple_command import SimpleCommand
from agent.permission.syntax.words import NUMBER, as_written, literal_word


def all_aliases(base: str, known: Program, call: SimpleCommand, text: str) -> tuple[str, ...]:
    """Return other spellings of a command for deny rules: ``git push`` for ``git -C x push``."""
    found = name_aliases(base, call)
    if known.syntax == "git":
        found.append(git_arguments.parse(call.words[1:]).normal)
    if known.syntax in ("find", "fd") and any(word.text == "-delete" for word in call.words[1:]):
        found.append(as_written([literal_word("rm"), *call.words[1:]]))
    for name in names_without_options(base, call.words[1:]):
        found += [name, *_runner_aliases(name, base)]
    return distinct_aliases(text, found)


def _runner_aliases(name: str, base: str) -> list[str]:
    """Return what runs in the end if *name* is another program than *base*."""
    words = tuple(map(literal_word, name.split(" ")))
    inner = inner_commands.unwrap(words[0].text, words) if words[0].text != base else None
    return [as_written(inner.words)] if inner is not None and inner.words else []


def name_aliases(base: str, call: SimpleCommand) -> list[str]:
    """Return the texts of *call* with the bare name of its program and its variables expanded."""
    found = [*call.aliases]
    if call.written and not any(NUMBER in word.raw for word in call.words):
        found.append(as_written(call.words))
    if base != call.words[0].text:
        found.append(as_written((literal_word(base), *call.words[1:])))
    return found


def distinct_aliases(text: str, spellings: list[str]) -> tuple[str, ...]:
    if not spellings:
        return ()
    return tuple(dict.fromkeys(alias for alias in spellings if alias != text))
