"""The effect that a command could have, in words for the user: for one that is not proven to only
read, where nothing more exact is known."""

from collections.abc import Sequence

from agent.permission.programs import git_arguments
from agent.permission.programs.inner_commands import Inner
from agent.permission.programs.read_only import Reading
from agent.permission.programs.record import WRITTEN, Command, Program
from agent.permission.syntax.words import Word

ANYTHING = "could change files or use the network"

UNKNOWN_PROGRAM = f"not a known program; {ANYTHING}"
RUNS_PROJECT = "runs project code, which could do anything"
RUNS_CODE = "runs code, which could do anything"
RUNS_ANOTHER = "runs another program"
CHANGES_FILES = "changes files"
CHANGES_REPOSITORY = "could change the repository or its files"
PERHAPS_MORE = "could do more than read"
READS_ELSEWHERE = "reads outside the project, or in a folder that is not known"


def possible_effect(
    program: Program | None,
    words: Sequence[Word],
    reading: Reading | None = None,
    *runs: Inner | None,
) -> str:
    """Return the effect that *program*, None for an unknown one, could have with the arguments
    *words*. *reading* is what it reads, if it is recorded to read; *runs* is what
    it runs of the programs that its arguments name."""
    if program is None:
        return UNKNOWN_PROGRAM
    if any(each is not None for each in runs):
        return RUNS_ANOTHER
    if reading is not None and reading.proven:
        return READS_ELSEWHERE
    if program.syntax == "git" and git_arguments.parse(words).command.effect != "read":
        only_files = git_arguments.parse(words).command.operands in WRITTEN
        return CHANGES_FILES if only_files else CHANGES_REPOSITORY
    if reading is not None:
        return PERHAPS_MORE
    command = _subcommand(program, words)
    if _runs_project(program, words):
        return RUNS_PROJECT
    if program.interpreter or command.runs_code:
        return RUNS_CODE
    if command.effect == "write" or command.operands in WRITTEN:
        return CHANGES_FILES
    return ANYTHING


def _runs_project(program: Program, words: Sequence[Word]) -> bool:
    named = program.runs_project.split()
    return "*" in named or any(word.text in named for word in words[:2])


def _subcommand(command: Command, words: Sequence[Word]) -> Command:
    """Return the record of the use of *command* that the first of *words* names."""
    inner = command.subcommand.get(words[0].text) if words else None
    return command if inner is None else _subcommand(inner, words[1:])
