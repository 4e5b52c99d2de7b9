"""Every need of a line, with its pattern for "always", and the effect of a deny rule for a program
in it if everything else is allowed.

``tests/data/permission/needs`` holds transcripts of what matters: programs, permissions, patterns,
paths and verdicts, but no reasons, whose wording can change. ``$`` begins a line, ``>`` continues
it; its needs follow in order: ``unknown`` is what no rule covers, ``also`` another text that deny
rules are matched against. The folder is ``/srv/shop`` and the home ``/home/ann``, neither of which
exists. ``SNAPSHOT_UPDATE=1`` rewrites them: read each change.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.permission.rules import DEFAULT_RULES, Rule, evaluate, strictest
from agent.permission.shell.analysis import Analysis, analyze
from agent.records.requests import Action, PermissionNeed

FOLDER = Path(__file__).parents[3] / "data" / "permission" / "needs"
DIRECTORY, HOME = "/srv/shop", "/home/ann"


def entries(path: Path) -> Iterator[tuple[str, str]]:
    """Yield the command lines of a transcript with the expected needs of each."""
    for block in f"\n{path.read_text('utf-8')}".split("\n$")[1:]:
        rows = block.split("\n")
        line = "\n".join([rows[0][1:], *(row[2:] for row in rows[1:] if row[:1] == ">")])
        yield line, "".join(f"{row}\n" for row in rows[1:] if row and row[0] not in ">#")


SIGNS = {code: f"⟨{code:02x}⟩" for code in (*range(32), 127)} | {10: "⏎", 0xA0: "␣"}


def one_line(text: str) -> str:
    return text.translate(SIGNS)


def of_need(need: PermissionNeed) -> Iterator[str]:
    subject = "" if need.permission == "bash" else f"{need.permission} "
    yield f"{need.strict or need.default_action}: {subject}{one_line(need.pattern)}"
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
    evaluated = (
        evaluate(need, (*DEFAULT_RULES, everything, *rules)).action for need in found.needs
    )
    actions: list[Action] = ["allow", *evaluated]
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


def analyze_here(line: str) -> Analysis:
    return analyze(line, directory=DIRECTORY, project=DIRECTORY, home=HOME)


FILES = sorted(FOLDER.glob("*.txt"))
CASES = [(path.stem, *entry) for path in FILES for entry in entries(path)]


@pytest.mark.parametrize(
    ("kind", "line", "expected"), CASES, ids=[f"{kind}: {line}" for kind, line, _ in CASES]
)
def test_the_needs_of_a_line_match_its_transcript(kind: str, line: str, expected: str) -> None:
    found = analyze_here(line)
    assert transcript(found) == expected, kind


@pytest.mark.parametrize(("kind", "line", "expected"), CASES, ids=range(len(CASES)))
def test_a_need_that_no_rule_covers_has_a_reason(kind: str, line: str, expected: str) -> None:
    found = analyze_here(line)
    for need in found.needs:
        assert isinstance(need.reason, str), kind
        assert need.reason or not (need.strict or need.destructive), expected
        assert "None" not in need.reason, expected


@pytest.mark.skipif("SNAPSHOT_UPDATE" not in os.environ, reason="writes the transcripts")
def test_write_the_transcripts() -> None:
    for path in FILES:
        blocks: list[str] = []
        for row in path.read_text("utf-8").split("\n"):
            if row[:1] == ">":
                blocks[-1] += f"\n{row}"
            elif row[:1] in ("$", "#") and row:
                blocks.append(row)
        for at, head in enumerate(blocks):
            if head[0] == "$":
                line = head[2:].replace("\n> ", "\n").replace("\n>", "\n")
                blocks[at] += f"\n{transcript(analyze_here(line))}"
        path.write_text("\n".join(blocks), "utf-8")
