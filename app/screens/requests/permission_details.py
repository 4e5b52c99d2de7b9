"""The details of a permission request: how each part was judged, its scope, and what "always" would
allow."""

from collections.abc import Iterable, Iterator

from textual.content import Content

from agent.records.blocks import DiffBlock, ShellBlock, TextBlock
from agent.records.decisions import explain_verdict
from agent.records.requests import EvaluatedNeed, PermissionRequest
from agent.records.sandbox import SandboxLevel
from app.text.invisible_characters import hidden_characters, lookalikes, name_of, reveal
from app.text.sanitize import sanitize, sanitize_line

VERDICT_WIDTH = 6
"""Cells for the verdict on a part, including the space after it."""

PART_WIDTH = 34
"""Cells for a part of a call if its reason is next to it."""

MIN_COLUMN = 20
"""Cells below which a column is too narrow to read."""

FACT_GAP = 6
"""Spaces between facts on one line."""

MAX_PART = 240
"""Characters of one part of a command; the whole command is shown above."""

MAX_NAMED = 4
"""Characters of a kind that are named individually."""


SANDBOXES: dict[tuple[SandboxLevel, bool], str] = {
    ("read-only", False): "writes nothing, no network",
    ("workspace-write", False): "writes in the project, no network",
    ("workspace-write", True): "writes in the project, with network",
    ("none", True): "none: it can do everything that you can",
}
"""The sandbox of a call by level and network, in words."""


def needs_text(needs: tuple[EvaluatedNeed, ...], width: int, *, above: bool) -> Content:
    """Return one entry for each part of the call, *width* cells wide: the verdict, the part, the
    reason.

    Text that is too long for its column wraps, and its reason goes below it. With *above* the whole
    call is shown above, so that very long parts are cut.
    """
    texts = [_line(judged.need.shown or judged.need.pattern) for judged in needs]
    shown = [_shortened(text) if above else text for text in texts]
    column = min(PART_WIDTH, max((Content(text).cell_length for text in shown), default=0)) + 3
    entries = [_need_entry(*pair, column, width) for pair in zip(needs, shown, strict=True)]
    return Content("\n").join(entries)


def _need_entry(judged: EvaluatedNeed, text: str, column: int, width: int) -> Content:
    tone = {"allow": "$tone-ok", "ask": "$tone-warn", "deny": "$tone-err"}[judged.action]
    if judged.need.destructive:
        tone = "$tone-err"
    verdict = Content.styled(judged.action.ljust(VERDICT_WIDTH), tone)
    program, space, rest = text.partition(" ")
    what = Content.assemble((program, tone if judged.need.destructive else ""), space + rest)
    why = Content.styled(sanitize_line(judged.reason or judged.need.reason), "$tone-muted")
    wide = max(column, what.cell_length + 2)
    if what.cell_length + 2 <= column and width - VERDICT_WIDTH - column >= MIN_COLUMN:
        pad = Content(" " * (column - what.cell_length))
        return hanging_indent(verdict + what + pad, why, width)
    if VERDICT_WIDTH + wide + why.cell_length <= width:
        return verdict + what + Content(" " * (wide - what.cell_length)) + why
    below = hanging_indent(Content(" " * VERDICT_WIDTH), why, width) if why else None
    return Content("\n").join(
        part for part in (hanging_indent(verdict, what, width), below) if part
    )


def hanging_indent(label: Content, text: Content, width: int) -> Content:
    """Return *text* after *label*, wrapped in a column of its own, or below the label if the width
    is too small for that."""
    indent = label.cell_length if width - label.cell_length >= min(MIN_COLUMN, width // 2) else 2
    lines = text.wrap(max(2, width - indent))
    first = label.truncate(max(1, width))
    rest = [Content(" " * indent) + line for line in lines]
    if indent == label.cell_length and lines:
        return Content("\n").join([first + lines[0], *rest[1:]])
    return Content("\n").join([first, *rest])


def _shortened(text: str) -> str:
    if len(text) <= MAX_PART:
        return text
    return f"{text[: MAX_PART - 40]} … ({len(text):,} characters, shown in full above)"


def scope_text(request: PermissionRequest, home: str, width: int) -> Content:
    """Return the scope of the call: paths outside the project, the folder, the length of the
    commands, and characters that only look like ASCII."""
    outside = [
        _line(judged.need.shown or judged.need.pattern)
        for judged in request.needs
        if judged.need.permission == "external_directory"
    ]
    shells = [block for block in request.blocks if isinstance(block, ShellBlock)]
    other = next((block.directory for block in shells if block.directory), "")
    folder = _line(other or request.folder)
    if home and (folder == home or folder.startswith(home + "/")):
        folder = "~" + folder[len(home) :]
    facts = [("outside", ", ".join(outside) or "none"), ("folder", folder)]
    commands = [block.command for block in shells]
    text = "\n".join(commands)
    if commands:
        facts.append(("lines", str(text.count("\n") + 1)))
    if request.sandbox is not None:
        facts.append(("sandbox", SANDBOXES[request.sandbox.level, request.sandbox.network]))
    if len(text) > 400:
        facts.append(("characters", f"{len(text):,}"))
    if request.verdict is not None:
        facts.append(("judge", _line(explain_verdict(request.verdict))))
    lines = _side_by_side(facts, width)
    code = "\n".join((text, *_judged_texts(request)))
    prose = "\n".join(_other_texts(request))
    hidden = hidden_characters(f"{code}\n{prose}")
    similar = dict.fromkeys((*lookalikes(code), *lookalikes(prose, code=False)))
    lines += _named_lines("not visible", [f"\\u{{{ord(c):x}}} {name_of(c)}" for c in hidden], width)
    shown = [f"{sanitize(c)} {name_of(c)}" for c in similar]
    lines += _named_lines("looks like ASCII", shown, width)
    return Content("\n").join(lines)


def _judged_texts(request: PermissionRequest) -> Iterator[str]:
    """Yield the texts that are judged: parts of the call, paths, patterns."""
    yield request.folder
    for judged in request.needs:
        yield judged.need.shown or judged.need.pattern
    for _, pattern in request.always:
        yield pattern


def _other_texts(request: PermissionRequest) -> Iterator[str]:
    """Yield the other texts in the dialog: the heading, changed lines, text of a tool."""
    yield request.heading
    for block in request.blocks:
        if isinstance(block, DiffBlock):
            yield block.path
            for hunk in block.hunks:
                yield from (line.text for line in hunk.lines if line.kind != "context")
        elif isinstance(block, TextBlock):
            yield block.text


def _named_lines(label: str, named: list[str], width: int) -> list[Content]:
    """Return a line with the characters *named*, none if there are none."""
    if not named:
        return []
    more = [f"and {len(named) - MAX_NAMED} more"] if len(named) > MAX_NAMED else []
    text = Content(", ".join((*named[:MAX_NAMED], *more)))
    return [hanging_indent(Content.styled(f"{label}  ", "$tone-warn"), text, width)]


def _line(text: str) -> str:
    """Return *text* on one line, with each character that is not seen as its code."""
    return sanitize_line(reveal(text.replace("\n", " ")))


def _side_by_side(facts: Iterable[tuple[str, str]], width: int) -> list[Content]:
    """Return as many *facts* on each line as fit; a longer fact wraps."""
    lines: list[Content] = []
    for name, value in facts:
        label, parts = Content.styled(f"{name}  ", "$tone-muted"), Content(value)
        last = lines[-1].cell_length if lines and "\n" not in lines[-1].plain else width
        if last + FACT_GAP + label.cell_length + parts.cell_length <= width:
            lines[-1] += Content(" " * FACT_GAP) + label + parts
        else:
            lines.append(hanging_indent(label, parts, width))
    return lines


def always_text(request: PermissionRequest, width: int) -> Content:
    """Return exactly what "always" would allow."""
    if not request.always:
        return Content.styled("“Always” is not available for this.", "$tone-muted")
    patterns = map(_line, request.always_labels)
    label = Content.styled("“Always” allows  ", "$tone-muted")
    for_now = Content.styled("   for this session", "$tone-muted")
    return hanging_indent(label, Content("\n").join(map(Content, patterns)) + for_now, width)
