"""The shared permission cases, if they are next to the checkout."""

import json
import os
from pathlib import Path

import pytest

from agent.permission.rules import STRENGTH, Rule
from agent.permission.shell.analysis import Case, evaluate_case

ROOT = Path(__file__).parents[4]
FILE = (
    Path(os.environ.get("OPENCODE_PY_SHARED", ROOT.parent / "shared"))
    / "permission-cases"
    / "bash.jsonl"
)


@pytest.mark.skipif(not FILE.exists(), reason="the shared cases are not next to this checkout")
def test_no_shared_case_is_milder_than_expected() -> None:
    """No unsafe allow, no missed deny, and at most 3 % of the harmless lines ask."""
    cases = [json.loads(line) for line in FILE.read_text("utf-8").splitlines() if line.strip()]
    unsafe: list[str] = []
    missed: list[str] = []
    asked: list[str] = []
    harmless = 0
    for case in cases:
        right = case["expect"] if isinstance(case["expect"], list) else [case["expect"]]
        rules = tuple(Rule(r["permission"], r["pattern"], r["action"], "x") for r in case["rules"])
        action = evaluate_case(Case(case["command"], case["cwd"], case["home"], rules)).action
        harmless += right == ["allow"]
        if STRENGTH[action] < min(STRENGTH[each] for each in right):
            (unsafe if action == "allow" else missed).append(case["id"])
        elif right == ["allow"] and action != "allow":
            asked.append(case["id"])
    assert cases
    assert (unsafe, missed) == ([], [])
    assert len(asked) <= 0.03 * harmless, asked
