"""The verdict on single command lines under given rules, for ``debug permission``.

Only the given rules count here, never the machine's own settings or the defaults: a command
without a rule asks, a read without one needs nothing.
"""

from agent.permission.rules import STRENGTH, Rule, evaluate, rule_for
from agent.permission.shell.analysis import analyze
from agent.records.frozen import frozen
from agent.records.requests import Action, EvaluatedNeed


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
            one = EvaluatedNeed(need, "ask", "no rule allows it")
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
