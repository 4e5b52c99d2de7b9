"""Malformed edits as models send them, on generated files."""

import pytest

from agent.tools.edit_match import EditRefused, apply_edit
from tests.agent.tools.edit_match.hunks import APPLIED, DOUBTFUL, REFUSED, Edit, spoilt


def cases(table: dict[str, object]) -> list[object]:
    return [pytest.param(edit, id=name) for name, edit in spoilt(table)]  # type: ignore[arg-type]


@pytest.mark.parametrize("edit", cases(APPLIED))
def test_a_malformed_edit_is_applied_as_intended(edit: Edit) -> None:
    assert apply_edit(edit.before, edit.old, edit.new).text == edit.after


@pytest.mark.parametrize("edit", cases(DOUBTFUL))
def test_a_doubtful_edit_is_right_or_refused(edit: Edit) -> None:
    try:
        after = apply_edit(edit.before, edit.old, edit.new).text
    except EditRefused:
        return
    assert after == edit.after


@pytest.mark.parametrize("edit", cases(REFUSED))
def test_a_wrong_edit_is_refused(edit: Edit) -> None:
    with pytest.raises(EditRefused):
        apply_edit(edit.before, edit.old, edit.new)


def test_every_kind_is_tried_on_some_hunk() -> None:
    for table in (APPLIED, DOUBTFUL, REFUSED):
        tried = {name.split(":")[0] for name, _ in spoilt(table)}
        assert tried == set(table)
