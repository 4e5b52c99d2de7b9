"""The limits on the shared cases next to the checkout."""

import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from agent.tools.edit_match import EditRefused, apply_edit

ROOT = Path(__file__).parents[4]
FILE = (
    Path(os.environ.get("OPENCODE_PY_SHARED", ROOT.parent / "shared"))
    / "edit-cases"
    / "cases.jsonl"
)
BOM = "\ufeff"


@pytest.mark.skipif(not FILE.exists(), reason="the shared cases are not next to this checkout")
def test_the_shared_cases_are_right_and_hardly_ever_wrong() -> None:
    cases = [json.loads(line) for line in FILE.read_text("utf-8").splitlines() if line.strip()]
    verdicts: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    for case in cases:
        verdict = judge(case)
        verdicts[verdict] += 1
        if verdict not in ("right", "refused"):
            wrong[case["id"]] = verdict
    assert cases
    assert verdicts["broken"] == 0, wrong
    assert verdicts["text"] == 0, wrong
    assert len(wrong) <= 0.007 * len(cases), wrong
    assert verdicts["right"] >= 0.9 * len(cases), verdicts


def judge(case: dict) -> str:
    """Return "right", "refused", or the error: "broken" (a refusal was expected), "text" or
    "space"."""
    before: str = case["before"]
    mark = BOM if before.startswith(BOM) else ""
    expected = case["expect"].get("after")
    try:
        edit = apply_edit(
            before.removeprefix(BOM), case["old"], case["new"], replace_all=case["replace_all"]
        )
    except EditRefused:
        return "right" if expected is None else "refused"
    after = mark + edit.text
    if after == expected:
        return "right"
    if expected is None:
        return "broken"
    return "text" if bare(after) != bare(expected) else "space"


def bare(text: str) -> str:
    return re.sub(r"\s+", "", text.replace(BOM, ""))
