"""``debug permission``: verdicts of cases as JSON lines, and an explanation for users."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.agents import Agents
from agent.permission.patterns import is_path
from agent.permission.rules import DEFAULT, Rule, applicable_rules, evaluate, rule_for
from agent.permission.shell.analysis import Case, command_needs, evaluate_case
from agent.process import shell
from agent.records.requests import EvaluatedNeed, PermissionNeed
from agent.tools.files.paths import edit_needs, path_in, read_needs
from app.cli.command_support import DONE, read_folder_settings, read_json_lines, write_json_line
from app.text.sanitize import sanitize

MAX_ALIASES = 5
"""Other names of one command that are listed."""


def answer_cases() -> int:
    """Answer ``{"id", "command", "rules", "cwd", "home"}`` lines, each under its own rules only."""
    for case in read_json_lines():
        rules = tuple(
            Rule(rule["permission"], rule["pattern"], rule["action"], "given")
            for rule in case["rules"]
        )
        found = evaluate_case(Case(case["command"], case["cwd"], case["home"], rules))
        answer = {
            "id": case["id"],
            "verdict": found.action,
            "commands": list(found.commands),
            "external_paths": list(found.external_paths),
            "edits": list(found.edits),
            "reasons": [one.reason for one in found.evaluated],
            "analysable": not found.problem,
        }
        write_json_line(answer)
    return DONE


def explain(agent: str, permission: str, pattern: str) -> int:
    """Print what would happen here, which rule decides, and what "always" would save."""
    directory = Path.cwd()
    loaded, trust = asyncio.run(read_folder_settings())
    rules = Agents(loaded).rules(agent)
    deny_wins = loaded.config.permission_mode == "deny-wins"
    needs = _needs(permission, pattern, str(directory), str(trust.project))
    judged = [evaluate(need, rules, trusted=trust.trusted, deny_wins=deny_wins) for need in needs]
    for one in judged:
        what = sanitize(one.need.shown or one.need.pattern)
        name = "" if one.need.permission == permission else f"{one.need.permission}: "
        print(f"{one.action:6}{name}{what}   {sanitize(one.reason)}")
        for line in _explanation(one, rules, trusted=trust.trusted, deny_wins=deny_wins):
            print(f"      {sanitize(line)}")
    verdicts = [one.action for one in judged]
    whole = next((action for action in ("deny", "ask") if action in verdicts), "allow")
    print(f"\nTogether: {whole}, for agent {agent} in {sanitize(str(directory))}.")
    offered = [
        f"{one.need.permission}: {one.need.always}"
        for one in judged
        if one.action == "ask" and one.need.always
    ]
    if whole == "ask":
        print("“Always” would store: " + (sanitize(", ".join(offered)) or "not available here."))
    for notice in loaded.notices:
        print(sanitize(notice))
    return DONE


def _needs(permission: str, given: str, directory: str, project: str) -> tuple[PermissionNeed, ...]:
    """Return what a command, or a tool with the path *given*, would need."""
    if permission == "bash":
        return command_needs(given, directory=directory, project=project, shell=shell()[0])
    if permission in {"read", "edit"}:
        path = path_in(directory, project, given)
        return read_needs(path) if permission == "read" else edit_needs(path)
    return (PermissionNeed(permission, given, root=project if is_path(permission) else ""),)


def _explanation(one: EvaluatedNeed, rules: Sequence[Rule], **how: bool) -> Iterator[str]:
    """Return the lines that explain a verdict: what was matched, and the rule that decided."""
    need = one.need
    if need.shown and need.shown != need.pattern:
        yield f"seen as: {need.pattern}"
    for text in need.same:
        yield f"the same as: {text}" + (f", in {need.folder}" if need.folder else "")
    others = [alias for alias in need.aliases if " " in alias or alias.isalpha()]
    if others:
        yield f"for deny rules also: {', '.join(others[:MAX_ALIASES])}"
    rule = rule_for(need, applicable_rules(need, rules), text=None, **how)
    if rule is None:
        yield "no rule matches it"
    elif rule.source == DEFAULT and need.permission == "bash":
        only = "only reads, inside the project"
        proof = f"it {only}" if one.action == "allow" else f"it is not proven that it {only}"
        yield f"no rule of yours matches it; {proof}"
    elif rule.source == DEFAULT:
        yield f"no rule of yours matches it; the default for {need.permission} is {rule.action}"
    elif f"`{rule.pattern}`" not in one.reason:
        yield f"the rule is {rule.permission} `{rule.pattern}`: {rule.action} ({rule.source})"
    if need.strict == "unknown":
        yield "only a rule that allows everything covers it"
    elif need.strict == "guarded":
        yield "no rule can allow it: it always asks"
