"""The record of one shell program: its options, operands and subcommands, and their effects.

``catalog`` holds one record for each program, ``lookup.program`` finds it. All that the analysis
knows of a program is in its record; what is not recorded is unknown, and what is unknown asks.
"""

from collections.abc import Sequence
from dataclasses import InitVar, dataclass
from functools import cached_property, partial
from typing import Literal

from agent.records.frozen import frozen

Effect = Literal["unknown", "none", "read", "write", "execute", "network", "chdir"]
"""The effect of an option, or of a command without options.

- ``none`` (options only): it changes nothing that matters here;
- ``read``: reads files. A command with this effect is proven to change nothing as long as all
  its options have the effect ``none``; an option with it reads a file that is no operand;
- ``write``: writes, changes or removes files;
- ``execute``: runs another program, or loads code or settings that can;
- ``network``: sends something to another machine, or chooses the machine;
- ``chdir``: works in another folder;
- ``unknown``: not recorded. Such an option is listed for its value only.
"""

SIDE_EFFECTS: frozenset[Effect] = frozenset({"read", "write", "execute", "network", "chdir"})
"""The effects for which an option is not covered by a rule for its program."""

Value = Literal["unknown", "none", "joined", "text", "path", "content", "code", "command"]
"""The value of an option.

- ``none``: it has no value (a long option can still have a value after ``=``);
- ``joined``: a value that is joined to it or absent: the rest of the letters, or after ``=``;
- ``path``: a file; ``content``: text, or the name of a file with the text after ``@``;
- ``code``: a program or shell code that is run; ``text``: anything else;
- ``command``: the words of a command, up to ``;``;
- ``unknown``: not recorded whether it takes the next word.
"""

Operands = Literal[
    "unknown", "none", "text", "read", "one", "folders", "pattern",
    "write", "mode", "copy", "change", "assigned", "command",
]  # fmt: skip
"""The role of a command's operands.

- ``none``: it takes none; ``text``: no paths;
- ``read``: files that are read; ``one``: one file that is read, a second one would be written;
  ``folders``: as ``read``, and a folder represents what is in it; ``pattern``: a pattern, then
  files that are read;
- ``write``: files that are written or removed, but not read; ``mode``: a mode or owner, then such
  files; ``copy``: files that are read, the last one is written; ``change``: files that are read
  and written; ``assigned``: the same, each after a name and ``=``;
- ``command``: a program and its arguments, which are analyzed on their own.
"""

_SHORTEST = 3
"""Characters of the shortest shortened option: ``--o``."""

WRITTEN: frozenset[Operands] = frozenset({"write", "mode", "copy", "change", "assigned"})
"""The roles of operands that the command writes."""

Syntax = Literal[
    "", "awk", "command", "curl", "database", "date", "echo", "editor", "fd", "find", "git", "jq",
    "make", "npm", "pager", "ps", "sed", "state", "tar", "tee", "test", "uniq",
]  # fmt: skip
"""The argument syntax of programs whose options and operands do not say everything: each has a
check of its own in ``side_effects`` or ``read_only``."""


@frozen
class Option:
    """One option, or several with the same facts."""

    names: str
    """The names, separated by spaces: ``-o --output``."""

    effect: Effect = "none"

    value: Value = "none"

    length: int = 1
    """The number of words of its value: 2 for a name and a text."""

    reach: Literal["", "recursive", "linked", "hidden", "chosen"] = ""
    """Further files that the command reads: folders with all that is below (``linked``: also what
    links lead to), hidden files, or those that match the pattern in its value."""

    gives_pattern: bool = False
    """True if it takes the place of the pattern among the operands."""

    harmless: str = ""
    """Values with which it has no side effect, separated by spaces: ``/dev/null``."""

    destructive: bool = False
    """True if work can be lost with it."""

    explicit: bool = False
    """True if a rule from "always" covers it only by naming it: ``-n`` of ``git commit``, which
    skips the hooks."""

    @property
    def takes_value(self) -> bool:
        """Return whether it is known to take the next word."""
        return self.value not in ("none", "joined", "unknown")


_KINDS: tuple[tuple[Effect, Value], ...] = (
    ("none", "none"),
    ("none", "text"),
    ("none", "path"),
    ("unknown", "text"),
    ("read", "path"),
    ("write", "path"),
    ("chdir", "text"),
    ("execute", "path"),
    ("execute", "code"),
    ("execute", "text"),
    ("execute", "unknown"),
)
"""Effect and value of options in the lists of ``Command``, from ``flags`` to ``may_execute``."""


@frozen
class Listing:
    """A use of a command that prints nothing but names of files or, as a filter, whole lines of
    its input."""

    needs: str = ""
    """Options one of which it needs, separated by spaces; empty if it needs none."""

    keeps: str = ""
    """Further options with which it still prints nothing else."""

    nul: str = ""
    """Those of its options with which each name or line ends with NUL."""

    empty: str = ""
    """Options that it needs with an empty value: ``--format=``."""

    arguments: tuple[str, ...] = ()
    """The whole arguments, one text for each choice; options do not count then."""

    column: Literal["", "added", "dropped"] = ""
    """``added`` if another column stands in front of each name, ``dropped`` if the filter removes
    it."""

    filters: bool = False
    """True if it prints lines of its input. It names no files then."""

    prefixed: bool = False
    """True if each name begins with an operand that it was given."""

    bare: bool = False
    """True if it must have no operands."""

    tracked: bool = False
    """True if it names only files in git's index."""


@frozen
class Wrapper:
    """The way in which a command runs the program that its operands name. Its options are those of
    the command: one that is not listed there makes the line ask."""

    operands_before: int = 0
    """Operands in front of the program, such as the duration of ``timeout``."""

    inert: bool = False
    """True if it needs no rule of its own: a rule for the program that it runs covers it."""

    appends: bool = False
    """True if it adds arguments that are known only at run time."""

    passes_names: bool = False
    """True if it does nothing itself but to add words of its input to the program (xargs)."""

    joined: bool = False
    """True if all operands together are shell code."""

    each: bool = False
    """True if each operand by itself is shell code."""

    variables: bool = False
    """True if assignments can precede the program."""

    chdir: bool = False
    """True if the program always runs in another folder."""

    named: bool = False
    """True if a rule can name it together with the program: ``npx tsc``."""


@dataclass(frozen=True, eq=False)
class Command:
    """The facts about a program or one of its subcommands; several names share one record."""

    names: str
    """The names, separated by spaces."""

    always: int | None = None
    """The number of words that name a use of it, for the pattern that "always" stores: 2 for ``git
    status``, 3 for ``npm run build``. None if no prefix is known to be safe."""

    runs_code: bool = False
    """True if it can run any code or program: "always" stores its exact line only."""

    exact: bool = False
    """True if every argument matters: "always" stores the exact line only."""

    effect: Effect = "unknown"

    operands: Operands = "unknown"

    reads_with: str = ""
    """Options with one of which it only reads, whatever its effect and its operands are. Without
    one it reads with no more operands than it takes: ``git branch``."""

    complete: bool = False
    """True if every option that it has is recorded: a file's name that looks like another one is
    an error."""

    flags: InitVar[str] = ""
    """Options without a value and without an effect. This and the next ten are the names of
    options, separated by spaces, with the facts that ``_KINDS`` has for each of these lists; what
    is of no such kind is in ``options``."""

    texts: InitVar[str] = ""
    """Options with a text as their value, without an effect."""

    paths: InitVar[str] = ""
    """Options with a file as their value, without an effect."""

    unrated: InitVar[str] = ""
    """Options with a text as their value whose effect is not recorded."""

    reads: InitVar[str] = ""
    """Options that name a file which it reads."""

    writes: InitVar[str] = ""
    """Options that name a file which it writes."""

    folders: InitVar[str] = ""
    """Options that name another folder to work in."""

    loads: InitVar[str] = ""
    """Options that name a file with code or settings which can run something."""

    code: InitVar[str] = ""
    """Options with code or a program to run as their value."""

    executes: InitVar[str] = ""
    """Options with another text that can make it run something."""

    may_execute: InitVar[str] = ""
    """The same; it is not recorded whether they take the next word."""

    options: tuple[Option, ...] = ()
    """All options, once the record is made."""

    clusters: bool = True
    """True if short options can be joined: ``-xzf``."""

    abbreviates: bool = True
    """True if a long option can be shortened: ``--out`` for ``--output``."""

    ordered: bool = False
    """True if its options end with the first operand."""

    expression: bool = False
    """True if ``--`` does not end its options: find's expression follows it."""

    groups: InitVar[str] = ""
    """Subcommands that have some of their own: it takes one more word to name a use of them."""

    code_runners: InitVar[str] = ""
    """Subcommands that can run any code or program."""

    subcommands: tuple["Command", ...] = ()
    """All subcommands with facts of their own, once the record is made."""

    listings: tuple[Listing, ...] = ()

    wrapper: Wrapper | None = None

    destructive: bool = False
    """True if work can be lost, or processes end, with any use of it."""

    def __post_init__(self, *lists: str) -> None:
        *named, groups, code_runners = lists
        given = (Option(names, *kind) for kind, names in zip(_KINDS, named, strict=True) if names)
        inner: tuple[Command, ...] = ()
        if groups:
            inner += (Command(groups, always=(self.always or 0) + 1),)
        if code_runners:
            inner += (Command(code_runners, runs_code=True),)
        object.__setattr__(self, "options", (*given, *self.options))
        object.__setattr__(self, "subcommands", (*inner, *self.subcommands))

    @cached_property
    def option(self) -> dict[str, Option]:
        """Each option by its name."""
        return {name: option for option in self.options for name in option.names.split()}

    @cached_property
    def subcommand(self) -> dict[str, "Command"]:
        """Each subcommand by its name."""
        return {name: each for each in self.subcommands for name in each.names.split()}

    @cached_property
    def valued(self) -> frozenset[str]:
        """The options that are known to take the next word."""
        return frozenset(name for name, option in self.option.items() if option.takes_value)

    @cached_property
    def takes_number(self) -> bool:
        """Return whether it can take a number as an option: ``head -20``."""
        return self.operands in ("read", "folders", "pattern", "text") and "-1" not in self.option

    def options_named(self, name: str) -> list[tuple[str, Option]]:
        """Return the long options that *name* can be short for, each kind of them once."""
        exact = self.option.get(name)
        if exact is not None:
            return [(name, exact)]
        if not self.abbreviates or len(name) < _SHORTEST:
            return []
        found = {
            id(each): (long, each) for long, each in self.option.items() if long.startswith(name)
        }
        return list(found.values())

    @cached_property
    def _named(self) -> dict[tuple[tuple[str, object], ...], tuple[str, ...]]:
        return {}

    def named(self, **facts: object) -> tuple[str, ...]:
        """Return the names of the options with all these *facts*."""
        key = tuple(facts.items())
        found = self._named.get(key)
        if found is None:
            found = self._named[key] = tuple(
                name
                for name, option in self.option.items()
                if all(getattr(option, fact) == value for fact, value in key)
            )
        return found

    def prefix_length(self, words: Sequence[str]) -> int | None:
        """Return how many words name the use *words* of the command, which can be fewer.

        *words* begin with its name. None if no prefix is known to be safe.
        """
        inner = self.subcommand.get(words[1]) if len(words) > 1 else None
        length = inner.prefix_length(words[1:]) if inner is not None else None
        return length or self.always


@dataclass(frozen=True, eq=False)
class Program(Command):
    """A program. Facts that hold for every argument are here, the others with its options and
    subcommands."""

    syntax: Syntax = ""

    version: str = ""
    """Single arguments with which it prints its version and does nothing else: only for programs
    that run no file of the folder then, which some do to choose their own version."""

    version_unless: str = ""
    """Names of files in the folder or above that make even this run another program."""

    recursive: bool = False
    """True if it reads folders with all that is below without an option for it."""

    follows_links: bool = False
    """True if it then also reads what links in these folders lead to, without an option for it."""

    response_files: bool = False
    """True if an operand ``@FILE`` is replaced by the words in that file."""

    interpreter: bool = False
    """True if it runs code of a language of its own: from an option, a file or its input."""

    shell_kind: Literal["", "posix", "other"] = ""
    """The kind of shell, if it is one: only the code of ``posix`` ones is read as bash would."""

    elsewhere: Literal["", "command", "container"] = ""
    """Set if it runs a program on another machine, as another user, later, or in another way that
    is not followed; ``container`` ones with some subcommands only."""

    code_options: str = ""
    """Options whose value is shell code even when they follow operands."""

    shared_options: tuple[Option, ...] = ()
    """Options of every subcommand."""

    runs_input: Literal["", "shell", "language", "escapes"] = ""
    """Set if it runs what it reads from standard input: as shell code or as a program in its own
    language, both without operands, or the commands in lines such as ``!ls``."""

    destructive_words: str = ""
    """Subcommands, at any level, with which work can be lost."""

    network: str = ""
    """Words after its name with which it uses the network, this machine's included, and ``*`` if
    every use does. A program with the effect ``network`` needs none."""

    runs_project: str = ""
    """Words after its name with which it runs code of the project, such as its tests or its build,
    and ``*`` if every use does."""

    builtin: bool = False

    changes_shell: bool = False
    """A builtin that changes the meaning of later commands."""

    evaluates_names: bool = False
    """A builtin that evaluates subscripts in names of variables."""

    gnu_prefix: bool = False
    """True if GNU's version can be installed with a ``g`` in front: ``gsed``."""

    @cached_property
    def named_by_words(self) -> bool:
        """Return whether words after the program name what it does, as ``publish`` in ``npm
        publish``."""
        words = (self.always or 1) > 1 or bool(self.subcommands)
        words = words or any(option.effect == "unknown" for option in self.options)
        named = self.wrapper is not None and self.wrapper.named
        return self.syntax != "git" and (words or named)

    @cached_property
    def familiar(self) -> bool:
        """Return whether its plain operands are known not to be run as commands unseen."""
        return (
            self.always is not None
            or self.exact
            or self.builtin
            or self.operands != "unknown"
            or bool(self.shell_kind or self.elsewhere)
            or bool(self.syntax or self.interpreter or self.side_effects)
        )

    @cached_property
    def side_effects(self) -> frozenset[str]:
        """The options with a side effect whatever their value is."""
        return frozenset(
            name
            for name, option in self.option.items()
            if option.effect in SIDE_EFFECTS and not option.harmless
        )


reader = partial(Program, always=1, effect="read", operands="read", complete=True)
"""Makes the record of a program that prints files or its input, all of whose options are known."""

printer = partial(Program, always=1, effect="read", operands="text")
"""Makes the record of a program that prints facts, and whose operands are no paths."""

wrapping = partial(Program, operands="command", wrapper=Wrapper())
"""Makes the record of a program that runs the program that its operands name."""

VERSION_MANAGERS = ".tool-versions .mise.toml mise.toml .config/mise/config.toml"
"""Files with which version managers choose a program, which can lie in the project itself."""

UNKNOWN = Program("")
"""The record of a program that is not in the catalog."""
