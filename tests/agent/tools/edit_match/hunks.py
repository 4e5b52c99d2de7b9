"""Edits of sample files, and the ways in which models spoil them.

Each hunk of ``tests/data/edit`` is an edit that matches exactly. A spoiling turns it into an edit
that a model might send instead; the correct result is that of the original edit.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from agent.tools.edit_match import apply_edit

DATA = Path(__file__).parents[3] / "data" / "edit"


@dataclass(frozen=True)
class Edit:
    """A file's text, both strings, and the text that is right (None: a refusal)."""

    name: str
    before: str
    old: str
    new: str
    after: str | None

    @property
    def old_lines(self) -> list[str]:
        return self.old.split("\n")

    @property
    def new_lines(self) -> list[str]:
        return self.new.split("\n")

    @property
    def kept_before(self) -> int:
        """Return the number of equal lines at the start of both strings."""
        pairs = zip(self.old_lines, self.new_lines, strict=False)
        return next((n for n, (a, b) in enumerate(pairs) if a != b), 0)

    def strings(self, change: Callable[[str], str]) -> "Edit":
        """Both strings with *change* made to each line that is not blank."""

        def lines(text: str) -> str:
            return "\n".join(change(line) if line.strip() else line for line in text.split("\n"))

        return replace(self, old=lines(self.old), new=lines(self.new))


def hunks() -> Iterator[Edit]:
    for number, line in enumerate((DATA / "hunks.jsonl").read_text("utf-8").splitlines()):
        hunk = json.loads(line)
        before = (DATA / hunk["file"]).read_text("utf-8")
        old = hunk["old"].removesuffix("\n")
        new = hunk["new"].removesuffix("\n")
        yield Edit(
            f"{hunk['file'].split('.')[0]}-{number}", before, old, new, before.replace(old, new)
        )


def lead(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _deeper(more: str) -> Callable[[Edit], Edit]:
    return lambda edit: edit.strings(lambda line: more + line)


def _dedented(edit: Edit) -> Edit | None:
    filled = [line for line in edit.old_lines + edit.new_lines if line.strip()]
    common = min((lead(line) for line in filled), key=len)
    return edit.strings(lambda line: line.removeprefix(common)) if common else None


def _as_tabs(edit: Edit) -> Edit | None:
    if "\t" in edit.old or not lead(edit.old):
        return None
    unit = 2 if re.search(r"(?m)^ {2}\S", edit.before) else 4
    return edit.strings(
        lambda line: (
            "\t" * (len(lead(line)) // unit) + " " * (len(lead(line)) % unit) + line.strip()
        )
    )


def _as_spaces(width: int) -> Callable[[Edit], Edit | None]:
    def spoil(edit: Edit) -> Edit | None:
        if not edit.old.startswith("\t"):
            return None
        return edit.strings(lambda line: lead(line).replace("\t", " " * width) + line.strip())

    return spoil


def _other_unit(edit: Edit) -> Edit | None:
    if "\t" in edit.old or not re.search(r"(?m)^ {4}\S", edit.before):
        return None
    two = bool(re.search(r"(?m)^ {2}\S", edit.before))
    return edit.strings(
        lambda line: " " * (len(lead(line)) * 2 if two else len(lead(line)) // 2) + line.strip()
    )


def _old_only(edit: Edit) -> Edit:
    return replace(edit, old=_deeper("  ")(edit).old)


def _first_line_lost(edit: Edit) -> Edit | None:
    if not lead(edit.old) or edit.kept_before == 0:
        return None
    return replace(edit, old=edit.old.lstrip(), new=edit.new.lstrip())


def _trailing(edit: Edit) -> Edit:
    return edit.strings(lambda line: line + "  ")


def _file_trailing(edit: Edit) -> Edit | None:
    first = edit.old_lines[0]
    if edit.kept_before == 0 or edit.after is None:
        return None
    before = edit.before.replace(edit.old, edit.old.replace(first, first + "  ", 1))
    return replace(
        edit,
        before=before,
        after=edit.after.replace(edit.new, edit.new.replace(first, first + "  ", 1)),
    )


def _blank_lines_around(edit: Edit) -> Edit:
    return replace(edit, old=f"\n\n{edit.old}\n\n\n", new=f"\n\n{edit.new}\n\n\n")


def _blank_line_added(edit: Edit) -> Edit | None:
    if edit.kept_before < 2:
        return None
    return replace(
        edit, old=edit.old.replace("\n", "\n\n", 1), new=edit.new.replace("\n", "\n\n", 1)
    )


def _crlf_file(edit: Edit) -> Edit:
    after = None if edit.after is None else edit.after.replace("\n", "\r\n")
    return replace(edit, before=edit.before.replace("\n", "\r\n"), after=after)


def _numbered(form: str, *, both: bool) -> Callable[[Edit], Edit]:
    def number(text: str, first: int) -> str:
        return "\n".join(form.format(first + n) + line for n, line in enumerate(text.split("\n")))

    def spoil(edit: Edit) -> Edit:
        first = edit.before[: edit.before.index(edit.old)].count("\n") + 1
        new = number(edit.new, first) if both else edit.new
        return replace(edit, old=number(edit.old, first), new=new)

    return spoil


def _escaped(old: str, new: str, *, only_old: bool = False) -> Callable[[Edit], Edit | None]:
    def spoil(edit: Edit) -> Edit | None:
        if old not in edit.old or new in edit.old + edit.new:
            return None
        spoilt = edit.old.replace(old, new), edit.new.replace(old, new)
        return replace(edit, old=spoilt[0], new=edit.new if only_old else spoilt[1])

    return spoil


def _one_line(edit: Edit) -> Edit | None:
    if "\\" in edit.old + edit.new:
        return None
    return replace(edit, old=edit.old.replace("\n", "\\n"), new=edit.new.replace("\n", "\\n"))


def _entities(edit: Edit) -> Edit | None:
    if not re.search("[<>&]", edit.old):
        return None

    def escape(line: str) -> str:
        return line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

    return edit.strings(escape)


def _typographic(edit: Edit) -> Edit | None:
    if not re.search("['\"]", edit.old):
        return None
    return edit.strings(lambda line: line.replace("'", "’").replace(' "', " “").replace('"', "”"))


def _odd_spaces(edit: Edit) -> Edit:
    return edit.strings(lambda line: lead(line).replace(" ", "\u00a0") + line.lstrip())


APPLIED: dict[str, Callable[[Edit], Edit | None]] = {
    "exact": lambda edit: edit,
    "two spaces deeper": _deeper("  "),
    "four spaces deeper": _deeper("    "),
    "dedented": _dedented,
    "tabs for spaces": _as_tabs,
    "two spaces for tabs": _as_spaces(2),
    "four spaces for tabs": _as_spaces(4),
    "another unit": _other_unit,
    "only old_string deeper": _old_only,
    "first line lost its indentation": _first_line_lost,
    "whitespace at line ends": _trailing,
    "whitespace at a line end of the file": _file_trailing,
    "blank lines around": _blank_lines_around,
    "a blank line too many": _blank_line_added,
    "a file with CRLF": _crlf_file,
    "strings with CRLF": lambda edit: replace(
        edit, old=edit.old.replace("\n", "\r\n"), new=edit.new.replace("\n", "\r\n")
    ),
    "line numbers": _numbered("{}: ", both=True),
    "line numbers in old_string": _numbered("{}: ", both=False),
    "line numbers with an arrow": _numbered("{:6}→", both=True),
    "line numbers with a tab": _numbered("{:6}\t", both=False),
    "line numbers with a bar": _numbered("{:05}| ", both=True),
    "escaped double quotes": _escaped('"', '\\"'),
    "escaped double quotes in old_string": _escaped('"', '\\"', only_old=True),
    "escaped single quotes": _escaped("'", "\\'"),
    "doubled backslashes": _escaped("\\", "\\\\"),
    "all on one line": _one_line,
    "entities": _entities,
    "typographic quotes": _typographic,
    "no-break spaces": _odd_spaces,
}
"""Spoilings that must not keep an edit from being applied, and rightly."""


def _other_line(edit: Edit, change: Callable[[str], str]) -> Edit | None:
    """*change* made to the first line that both strings keep."""
    line = edit.old_lines[0]
    if edit.kept_before == 0 or edit.old.count(line) + edit.new.count(line) != 2:
        return None
    return replace(
        edit, old=edit.old.replace(line, change(line)), new=edit.new.replace(line, change(line))
    )


def _swapped(line: str) -> str:
    at = re.search(r"[a-z]([a-z])(?!\1)[a-z]", line)
    assert at is not None
    n = at.start() + 1
    return line[:n] + line[n + 1] + line[n] + line[n + 2 :]


DOUBTFUL: dict[str, Callable[[Edit], Edit | None]] = {
    "a slip in a kept line": lambda edit: _other_line(edit, _swapped),
    "a kept line twice": lambda edit: _other_line(edit, lambda line: f"{line}\n{line}"),
    "a kept line that is not there": lambda edit: _other_line(
        edit, lambda line: f"{line}\n{lead(line)}nothing_like_it(here)"
    ),
    "flattened": lambda edit: edit.strings(str.lstrip),
}
"""Spoilings after which a refusal is as good as the right result."""


def _gone(edit: Edit) -> Edit:
    return replace(edit, before=edit.before.replace(edit.old + "\n", ""), after=None)


def _twice(edit: Edit) -> Edit:
    return replace(
        _deeper("  ")(edit),
        before=edit.before.replace(edit.old, f"{edit.old}\n{edit.old}"),
        after=None,
    )


def _applied_already(edit: Edit) -> Edit | None:
    return None if edit.after is None else replace(edit, before=edit.after, after=None)


def _other_middle(edit: Edit) -> Edit:
    first, *middle, last = edit.old_lines
    others = [f"{lead(line)}quite_another({n})" for n, line in enumerate(middle)]
    return replace(edit, old="\n".join([first, *others, last]), after=None)


REFUSED: dict[str, Callable[[Edit], Edit | None]] = {
    "the block is gone": _gone,
    "the block is there twice": _twice,
    "applied already": _applied_already,
    "only the first and last line are there": _other_middle,
    "the same strings": lambda edit: replace(edit, new=edit.old, after=None),
    "nothing to find": lambda edit: replace(edit, old="", after=None),
    "only whitespace to find": lambda edit: replace(edit, old="\n    \n", after=None),
}
"""Edits that must not be made."""


def spoilt(table: dict[str, Callable[[Edit], Edit | None]]) -> Iterator[tuple[str, Edit]]:
    """Every hunk spoilt in every way of *table*, named."""
    for kind, spoil in table.items():
        for edit in hunks():
            case = spoil(edit)
            if case is not None:
                yield f"{kind}: {edit.name}", case


def after(text: str, old: str, new: str, *, replace_all: bool = False) -> str:
    """Return *text* with *old* replaced by *new*, as the edit tool finds it."""
    return apply_edit(text, old, new, replace_all=replace_all).text
