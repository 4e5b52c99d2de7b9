"""What a bash command line needs consent for (spec 3.4; security facts, section 5).

The line is refused early, its continuations joined, parsed, walked by known node types, its
words unquoted, wrappers looked through, hidden code searched, and the effects of each
command combined. Whatever is not understood asks.
"""

import logging
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.permission.findings import Findings
from agent.permission.shell_parser import descendants, parse, text_of
from agent.permission.shell_paths import Place
from agent.permission.shell_text import LIMIT, CannotAnalyseError
from agent.permission.shell_walk import Walker
from agent.questions import Need

_TAILS = 12

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Analysis:
    """*needs* in order of the line. *commands* are base names, *externals* and *edits*
    absolute paths. *problem* says why the line cannot be analysed, empty when it can."""

    needs: tuple[Need, ...]
    commands: tuple[str, ...]
    externals: tuple[str, ...]
    edits: tuple[str, ...]
    problem: str = ""


def analyse(
    command: str,
    *,
    directory: str,
    project: str,
    home: str | None = None,
    readable: Sequence[str] = (),
) -> Analysis:
    """Analyse *command* as it would run in *directory* (absolute; need not exist).

    *readable* are folders outside the project that are read without consent (M4a).
    """
    found = Findings(
        Place(
            os.path.realpath(directory),
            os.path.realpath(project),
            home if home is not None else str(Path.home()),
            tuple(os.path.realpath(folder) for folder in readable),
        )
    )
    problem = ""
    try:
        Walker(found).code(command, frozenset({directory}))
    except CannotAnalyseError as error:
        problem = str(error)
    except (ValueError, IndexError):
        # A tree of a shape that the walk does not know must ask; it may not fail.
        log.exception("the analysis of a command failed")
        problem = "it has a form that is not followed"
    except RecursionError:
        problem = "it is nested too deeply"
    if problem:
        aliases = tuple(dict.fromkeys((*_texts(found), *_guessed(command))))
        found.unknown(command, f"cannot be analysed: {problem}", aliases=aliases)
    elif found.code and found.evaluating:
        found.unknown(command, "quoted text with code in it may be evaluated")
    elif not found.needs and not re.fullmatch(r"(\s*(#[^\n]*)?\n?)*", command):
        found.plain(command, "tests or calculates only", "allow")
    return Analysis(
        tuple(found.needs),
        tuple(dict.fromkeys(found.names)),
        tuple(dict.fromkeys(found.externals)),
        tuple(dict.fromkeys(found.edits)),
        problem,
    )


def bash_needs(
    command: str,
    *,
    directory: str,
    project: str,
    home: str | None = None,
    readable: Sequence[str] = (),
) -> tuple[Need, ...]:
    """The needs of a command line: one for each command, write, and path outside."""
    return analyse(
        command, directory=directory, project=project, home=home, readable=readable
    ).needs


def read_only(command: str, *, directory: str, project: str, home: str | None = None) -> bool:
    """Whether the line is proven to change nothing and to stay inside the project (L8)."""
    needs = bash_needs(command, directory=directory, project=project, home=home)
    return all(need.floor == "allow" and not need.strict for need in needs)


def _texts(found: Findings) -> list[str]:
    """What was understood before the analysis stopped, for deny rules."""
    return [
        text
        for need in found.needs
        if need.permission == "bash"
        for text in (need.pattern, *need.aliases)
    ]


def _guessed(command: str) -> list[str]:
    """Texts that may be commands in a line that is not understood: only deny rules see them."""
    cleaned = re.sub(r"[^\S\n ]|\r", "\n", command[: 4 * LIMIT])
    texts: list[str] = []
    for node in descendants(parse(cleaned.encode(errors="replace").decode()), "command"):
        words = re.sub(r"['\"\\]", "", text_of(node)).split()[:200]
        texts += [" ".join(words[at:]) for at in range(min(len(words), _TAILS))]
        if words:
            texts.append(" ".join([words[0].rsplit("/", 1)[-1], *words[1:]]))
    return texts[:2_000]
