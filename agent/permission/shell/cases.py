"""Judging single command lines under given rules: what ``debug permission`` answers.

Only the rules that are given count here, never the machine's own settings or the defaults:
a command without a rule asks, a read without one needs nothing.
"""

from dataclasses import dataclass

from agent.permission.rules import STRENGTH, Rule, decide, judge
from agent.permission.shell.analysis import analyse
from agent.records.requests import Action, JudgedNeed


@dataclass(frozen=True, slots=True)
class Case:
    """*directory* is the folder and the project, absolute; it need not exist."""

    command: str
    directory: str
    home: str
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """*judged* are the parts of the line with their verdicts; paths are absolute."""

    action: Action
    judged: tuple[JudgedNeed, ...]
    commands: tuple[str, ...]
    external_paths: tuple[str, ...]
    edits: tuple[str, ...]
    problem: str


def verdict(case: Case) -> Verdict:
    """The strictest verdict over everything the line needs."""
    analysis = analyse(
        case.command, directory=case.directory, project=case.directory, home=case.home
    )
    judged: list[JudgedNeed] = []
    for need in analysis.needs:
        known = decide(need.permission, need.pattern, case.rules)
        if known is None and need.permission == "read":
            continue
        one = judge(need, case.rules)
        if known is None and one.action == "allow" and need.pattern.strip():
            one = JudgedNeed(need, "ask", "no rule allows it")
        judged.append(one)
    actions: list[Action] = ["allow", *(one.action for one in judged)]
    return Verdict(
        max(actions, key=STRENGTH.__getitem__),
        tuple(judged),
        analysis.commands,
        analysis.externals,
        analysis.edits,
        analysis.problem,
    )
