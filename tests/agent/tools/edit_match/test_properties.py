"""Properties of all edits: other bytes never change, new text is literal."""

from hypothesis import given
from hypothesis import strategies as st

from agent.tools.edit_match import EditRefused, apply_edit
from tests.agent.tools.edit_match.hunks import Edit, hunks

WORDS = ("alpha", "beta", "gamma(1)", "delta = 2", "}", "", "epsilon", "return zeta", "if eta:")
lines = st.lists(
    st.tuples(st.sampled_from(["", " ", "  ", "    ", "\t", "\t\t"]), st.sampled_from(WORDS)).map(
        "".join
    ),
    min_size=1,
    max_size=14,
)
endings = st.sampled_from(["\n", "\r\n", "\r"])


@given(lines, lines, lines, endings, st.booleans(), st.booleans())
def test_only_the_replacements_differ(
    file: list[str], old: list[str], new: list[str], ending: str, last: bool, replace_all: bool
) -> None:
    text = ending.join(file) + (ending if last else "")
    try:
        edit = apply_edit(text, "\n".join(old), "\n".join(new), replace_all=replace_all)
    except EditRefused:
        return
    position = 0
    rebuilt = ""
    for replacement in edit.replacements:
        assert position <= replacement.start <= replacement.end
        rebuilt += text[position : replacement.start] + replacement.text
        position = replacement.end
    assert edit.text == rebuilt + text[position:]
    assert edit.text != text


@given(lines, st.data())
def test_an_exact_edit_is_nothing_but_the_replacement(file: list[str], data: st.DataObject) -> None:
    text = "\n".join(file)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    old, new = text[start:end], "$1 \\1 \\n \\g<0>"
    if old.startswith("\n") or old.endswith("\n"):
        return  # the repairs at the edges keep a break
    try:
        edit = apply_edit(text, old, new)
    except EditRefused:
        return
    assert edit.text == text[:start] + new + text[end:]


@given(
    st.sampled_from(list(hunks())),
    st.sampled_from(["  ", "\t", "    "]),
    st.lists(st.text("$\\1n&g<0>{}", min_size=1, max_size=8), min_size=1, max_size=3),
    endings.filter(lambda ending: ending != "\r"),
    st.booleans(),
)
def test_added_text_is_literal_and_the_rest_stays(
    hunk: Edit, deeper: str, added: list[str], ending: str, last: bool
) -> None:
    """A spoilt block with lines of special characters added at its end."""
    before = hunk.before.replace("\n", ending)
    if not last:
        before = before.removesuffix(ending)
    old = "\n".join(deeper + line if line.strip() else line for line in hunk.old_lines)
    lead = hunk.old_lines[-1][: -len(hunk.old_lines[-1].lstrip())]
    new = "\n".join([old, *(deeper + lead + line for line in added)])
    edit = apply_edit(before, old, new)
    place = before.index(hunk.old.replace("\n", ending)) + len(hunk.old.replace("\n", ending))
    assert (
        edit.text
        == before[:place] + "".join(ending + lead + line for line in added) + before[place:]
    )
