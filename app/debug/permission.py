"""``debug permission``: verdicts of cases as JSON lines, and an explanation for a person."""

import asyncio
import json
from pathlib import Path
from typing import TextIO

from agent.agents import Agents
from agent.permission.bash import bash_needs
from agent.permission.cases import Case, verdict
from agent.permission.rules import Rule, judge
from agent.process import shell
from agent.questions import Need
from app.clean import clean
from app.debug.settings import settings_here


def answer_cases(lines: TextIO, out: TextIO) -> int:
    """Answer ``{"id", "command", "rules", "cwd", "home"}`` lines, each under its rules alone."""
    for line in lines:
        if not line.strip():
            continue
        case = json.loads(line)
        rules = tuple(
            Rule(rule["permission"], rule["pattern"], rule["action"], "given")
            for rule in case["rules"]
        )
        found = verdict(Case(case["command"], case["cwd"], case["home"], rules))
        answer = {
            "id": case["id"],
            "verdict": found.action,
            "commands": list(found.commands),
            "external_paths": list(found.external_paths),
            "edits": list(found.edits),
            "reasons": [one.reason for one in found.judged],
            "analysable": not found.problem,
        }
        out.write(json.dumps(answer) + "\n")
        out.flush()
    return 0


def explain(directory: Path, agent: str, permission: str, pattern: str) -> int:
    """Print what would happen in *directory*, which rule decides, what "always" would store."""
    loaded, trust = asyncio.run(settings_here(directory))
    rules = Agents(loaded).rules(agent)
    deny_wins = loaded.config.permission_mode == "deny-wins"
    needs: tuple[Need, ...] = (Need(permission, pattern),)
    if permission == "bash":
        needs = bash_needs(
            pattern, directory=str(directory), project=str(trust.project), shell=shell()[0]
        )
    judged = [judge(need, rules, trusted=trust.trusted, deny_wins=deny_wins) for need in needs]
    for one in judged:
        what = clean(one.need.shown or one.need.pattern)
        name = "" if one.need.permission == permission else f"{one.need.permission}: "
        print(f"{one.action:6}{name}{what}   {clean(one.reason)}")
    words = [one.action for one in judged]
    whole = next((action for action in ("deny", "ask") if action in words), "allow")
    print(f"\nTogether: {whole}, for agent {agent} in {clean(str(directory))}.")
    offered = [
        f"{one.need.permission}: {one.need.always}"
        for one in judged
        if one.action == "ask" and one.need.always
    ]
    if whole == "ask":
        print("Always would store: " + (clean(", ".join(offered)) or "nothing is offered."))
    for notice in loaded.notices:
        print(clean(notice))
    return 0
