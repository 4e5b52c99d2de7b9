"""The analysis of a bash command line: the permissions that it needs.

Its continuation lines are joined, it is parsed and walked by known node types, its words are
unquoted, wrappers are followed to what they run, hidden code is searched for, and the effects of
all commands are combined. Whatever is not understood asks.
"""

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent.permission.programs.scripts import code_strings
from agent.permission.read_rules import Reach
from agent.permission.rules import STRENGTH, Rule, evaluate, rule_for
from agent.permission.shell.findings import Findings, GitUse
from agent.permission.shell.operands import add_paths_in_code
from agent.permission.shell.paths import Workspace
from agent.permission.shell.possible_commands import possible_commands
from agent.permission.shell.walker import Walker
from agent.permission.syntax.source import MAX_ALLOWED_LENGTH, CannotAnalyzeError
from agent.records.frozen import frozen
from agent.records.requests import Action, EvaluatedNeed, PermissionNeed

_COPROC = re.compile(
    r"\bcoproc\s+(?:[A-Za-z_]\w*\s+)?(?=[{(\[]|(?:if|while|until|for|case|select)\s)"
)

log = logging.getLogger(__name__)


@frozen
class Analysis:
    """The result of the analysis of one line."""

    needs: tuple[PermissionNeed, ...]
    """In the order of the line."""

    commands: tuple[str, ...]
    """Base names of the programs."""

    externals: tuple[str, ...]
    """Absolute paths outside the project."""

    edits: tuple[str, ...]
    """Absolute paths of the files that redirections write."""

    problem: str = ""
    """The reason why the line cannot be analyzed; empty if it can."""

    git: tuple[GitUse, ...] = ()
    """Its git commands."""

    reaches: tuple[Reach, ...] = ()
    """Files that its reading commands can show besides those that they name."""


def analyze(
    command: str,
    *,
    directory: str,
    project: str,
    home: str | None = None,
    readable: Sequence[str] = (),
    start: str = "",
) -> Analysis:
    """Analyze *command* as it would run in *directory* (absolute; need not exist).

    *start* is the folder of the session, if that is another one; what the user answers "always" to
    names the folder then. *readable* are folders outside the project that can be read without
    approval.
    """
    found = Findings(
        Workspace(
            os.path.realpath(directory),
            os.path.realpath(project),
            home if home is not None else str(Path.home()),
            os.path.realpath(start) if start else "",
            tuple(os.path.realpath(folder) for folder in readable),
            one_line=True,
        )
    )
    problem = ""
    walker = Walker(found)
    try:
        walker.analyze_code(command, frozenset({directory}))
    except CannotAnalyzeError as error:
        problem = str(error)
    except (ValueError, IndexError):
        # A tree of unknown shape must ask; it must not fail.
        log.exception("the analysis of a command failed")
        problem = "its form is not supported"
    except RecursionError:
        problem = "it has too many levels of nested code"
    if problem:
        aliases = dict.fromkeys(
            (
                *found.command_texts(),
                *possible_commands(command),
                *_commands_in_data(found, walker),
                *_coprocesses(command, walker),
            )
        )
        found.add_unknown(command, f"cannot be checked: {problem}", aliases=tuple(aliases))
    elif len(command) > MAX_ALLOWED_LENGTH:
        problem = f"it is longer than {MAX_ALLOWED_LENGTH:,} characters"
        found.add_unknown(command, f"only a rule for everything covers it: {problem}")
    _add_hidden_code(found, walker, command, problem, directory)
    if not found.needs and not re.fullmatch(r"(\s*(#[^\n]*)?\n?)*", command):
        found.add_command(command, "only tests, calculates or sets its own variable", "allow")
    return _result(found, problem)


def _result(found: Findings, problem: str) -> Analysis:
    return Analysis(
        tuple(found.needs),
        tuple(dict.fromkeys(found.names)),
        tuple(dict.fromkeys(found.externals)),
        tuple(dict.fromkeys(found.edits)),
        problem,
        tuple(found.git),
        tuple(found.reaches),
    )


def _add_hidden_code(
    found: Findings, walker: Walker, command: str, problem: str, directory: str
) -> None:
    """Add the commands and paths in text that the line can run as code."""
    if found.runs_text or found.runs_code or found.runs_escapes:
        aliases = _commands_in_data(found, walker)
        if aliases:
            found.add_unknown(command, "text in it can run as code", aliases=tuple(aliases))
    for text in (
        (*found.texts, *([command] if problem else [])) if found.runs_code or problem else ()
    ):
        add_paths_in_code(found, text, frozenset({directory}))
    if not problem and found.code and found.evaluates:
        aliases = tuple(
            dict.fromkeys(alias for text in found.code for alias in possible_commands(text))
        )
        found.add_unknown(command, "quoted text in it can run as code", aliases=aliases)


def command_needs(
    command: str,
    *,
    directory: str,
    project: str,
    home: str | None = None,
    readable: Sequence[str] = (),
    start: str = "",
    shell: str = "bash",
) -> tuple[PermissionNeed, ...]:
    """Return the needs of a command line: one for each command, write, and path outside.

    *shell* is the program that runs the line, a name or a path. For a shell other than bash, no
    command in the line is proven to only read, and none has a pattern for "always".
    """
    found = analyze(
        command, directory=directory, project=project, home=home, readable=readable, start=start
    )
    return needs_in_shell(found, shell)


def needs_in_shell(found: Analysis, shell: str) -> tuple[PermissionNeed, ...]:
    """Return the needs of the line that was analyzed, as for ``command_needs``."""
    if _is_bash(shell):
        return found.needs
    name = Path(shell).name
    return tuple(
        _without_proof(need, f"bash was not found, and {name} can read it in another way")
        for need in found.needs
    )


def is_read_only(
    command: str, *, directory: str, project: str, home: str | None = None, shell: str = "bash"
) -> bool:
    """Return whether the line is proven to change nothing and to stay inside the project."""
    needs = command_needs(command, directory=directory, project=project, home=home, shell=shell)
    return all(need.proven for need in needs)


def _is_bash(shell: str) -> bool:
    return Path(shell).name.removesuffix(".exe") == "bash"


def _without_proof(need: PermissionNeed, why: str) -> PermissionNeed:
    """Return *need* for a line that another shell runs than the one whose grammar was followed."""
    if need.permission != "bash":
        return replace(need, always=None)
    reason = "; ".join(filter(None, (need.reason, why)))
    return replace(need, always=None, default_action="ask", strict="unknown", reason=reason)


def _coprocesses(command: str, walker: Walker) -> tuple[str, ...]:
    """Return the commands of a line with ``coproc { … }``, which the grammar does not know."""
    plain = _COPROC.sub("", command)
    return walker.commands_in(plain) if plain != command else ()


_ESCAPE = re.compile(
    r"(?:[!|]|^[ \t]*\.s[hy]\w*\s|\bprogram\b)[ \t]*(.+)", re.MULTILINE | re.IGNORECASE
)
"""A command in the input of an editor, a database or a calculator."""


def _commands_in_data(found: Findings, walker: Walker) -> list[str]:
    """Return the commands in text that the line holds as data: ``echo 'rm x' | sh``, ``$X y``."""
    texts = [code for text in found.texts for code in code_strings(text)] if found.runs_code else []
    if found.runs_escapes:
        texts += [escape[1] for text in found.texts for escape in _ESCAPE.finditer(text)]
    if found.runs_text or not (found.runs_code or found.runs_escapes):
        texts += found.texts
    return [alias for text in dict.fromkeys(texts) for alias in walker.commands_in(text)]


# The verdict on single command lines under given rules, for ``debug permission``.
#
# Only the given rules count here, never the machine's own settings or the defaults: a command
# without a rule asks, a read without one needs nothing.


@frozen
class Case:
    """A command line with its rules."""

    command: str

    directory: str
    """The folder and the project; absolute, need not exist."""

    home: str
    rules: tuple[Rule, ...]


@frozen
class CaseVerdict:
    """The verdict on a line and on its parts; paths are absolute."""

    action: Action
    evaluated: tuple[EvaluatedNeed, ...]
    commands: tuple[str, ...]
    external_paths: tuple[str, ...]
    edits: tuple[str, ...]
    problem: str


def evaluate_case(case: Case) -> CaseVerdict:
    """Return the strictest verdict over everything that the line needs."""
    analysis = analyze(
        case.command, directory=case.directory, project=case.directory, home=case.home
    )
    evaluated: list[EvaluatedNeed] = []
    for need in analysis.needs:
        known = rule_for(need, case.rules)
        if known is None and need.permission == "read":
            continue
        one = evaluate(need, case.rules)
        if known is None and one.action == "allow" and need.pattern.strip():
            one = EvaluatedNeed(need, "ask", "only reads, but no rule allows it")
        evaluated.append(one)
    actions: list[Action] = ["allow", *(one.action for one in evaluated)]
    return CaseVerdict(
        max(actions, key=STRENGTH.__getitem__),
        tuple(evaluated),
        analysis.commands,
        analysis.externals,
        analysis.edits,
        analysis.problem,
    )
