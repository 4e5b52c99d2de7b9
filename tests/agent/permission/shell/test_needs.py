"""Every need of a line: what is asked, offered for "always" or destroyed, and what a deny rule
for a program in it does though all else is allowed (spec 3, B2 to B5).

``tests/data/permission/needs`` holds transcripts. ``$`` begins a line, ``>`` goes on with it; what
follows is all that it needs, in order: ``unknown`` is what no rule covers, ``also`` another name
under which a deny rule finds it. The folder is ``/srv/shop`` and the home ``/home/ann``, neither of
which exists. ``SNAPSHOT_UPDATE=1`` writes them anew: read each change.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.permission.rules import DEFAULT_RULES, Rule, evaluate, strictest
from agent.permission.shell.analysis import Analysis, analyze
from agent.records.requests import Action, PermissionNeed

FOLDER = Path(__file__).parents[3] / "data" / "permission" / "needs"
PLACE, HOME = "/srv/shop", "/home/ann"


def entries(path: Path) -> Iterator[tuple[str, str]]:
    """The command lines of a transcript with what it tells of each."""
    for block in f"\n{path.read_text('utf-8')}".split("\n$")[1:]:
        rows = block.split("\n")
        line = "\n".join([rows[0][1:], *(row[2:] for row in rows[1:] if row[:1] == ">")])
        yield line, "".join(f"{row}\n" for row in rows[1:] if row and row[0] not in ">#")


SIGNS = {code: f"⟨{code:02x}⟩" for code in (*range(32), 127)} | {10: "⏎", 0xA0: "␣"}


def one_line(text: str) -> str:
    return text.translate(SIGNS)


def of_need(need: PermissionNeed) -> Iterator[str]:
    subject = "" if need.permission == "bash" else f"{need.permission} "
    yield f"{need.strict or need.floor}: {subject}{one_line(need.pattern)}"
    if need.always is not None:
        yield f"    always {one_line(need.always)}"
    if need.shown not in ("", need.pattern):
        yield f"    shown as {one_line(need.shown)}"
    if need.destructive:
        yield "    destroys"
    if not need.strict:
        yield from (f"    also {one_line(alias)}" for alias in need.aliases)


def strictest_of(found: Analysis, *rules: Rule) -> Action:
    everything = Rule("bash", "*", "allow", "user")
    judged = (evaluate(need, (*DEFAULT_RULES, everything, *rules)).action for need in found.needs)
    actions: list[Action] = ["allow", *judged]
    return strictest(*actions)


def transcript(found: Analysis) -> str:
    rows = ["not understood"] if found.problem else [f"commands: {' '.join(found.commands)}"]
    rows += [f"outside: {path}" for path in found.externals]
    rows += [f"writes: {path}" for path in found.edits]
    rows += [row for need in found.needs for row in of_need(need)]
    usual = strictest_of(found)
    for program in ("rm", "npm"):
        deny = Rule("bash", f"{program} *", "deny", "user")
        if (action := strictest_of(found, deny)) != usual:
            rows.append(f"{action} where {program} is denied")
    return "".join(f"{row}\n" for row in rows)


def analyse_here(line: str) -> Analysis:
    return analyze(line, directory=PLACE, project=PLACE, home=HOME)


FILES = sorted(FOLDER.glob("*.txt"))
CASES = [(path.stem, *entry) for path in FILES for entry in entries(path)]


@pytest.mark.parametrize(
    ("kind", "line", "told"), CASES, ids=[f"{kind}: {line}" for kind, line, _ in CASES]
)
def test_b2_a_line_needs_what_is_written_here(kind: str, line: str, told: str) -> None:
    found = analyse_here(line)
    assert transcript(found) == told, kind


@pytest.mark.parametrize(("kind", "line", "told"), CASES, ids=range(len(CASES)))
def test_what_is_not_covered_by_a_rule_says_why(kind: str, line: str, told: str) -> None:
    found = analyse_here(line)
    for need in found.needs:
        assert isinstance(need.reason, str), kind
        assert need.reason or not (need.strict or need.destructive), told
        assert "None" not in need.reason, told


@pytest.mark.skipif("SNAPSHOT_UPDATE" not in os.environ, reason="writes the transcripts")
def test_write_the_transcripts() -> None:
    for path in FILES:
        told: list[str] = []
        for row in path.read_text("utf-8").split("\n"):
            if row[:1] == ">":
                told[-1] += f"\n{row}"
            elif row[:1] in ("$", "#") and row:
                told.append(row)
        for at, head in enumerate(told):
            if head[0] == "$":
                line = head[2:].replace("\n> ", "\n").replace("\n>", "\n")
                told[at] += f"\n{transcript(analyse_here(line))}"
        path.write_text("\n".join(told), "utf-8")
