"""The status page: the session, the model, the folder, background work."""

from collections.abc import Sequence
from dataclasses import dataclass

from textual.content import Content

from agent.records.blocks import TodoItem
from app.text.sanitize import sanitize_line

_GLYPHS = {"pending": "☐", "in_progress": "▸", "completed": "☑", "cancelled": "⊘"}
NAME_WIDTH = 14
"""Cells for the name of a fact."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of the page."""

    name: str
    text: str
    tone: str = ""
    """A CSS color variable, "" for the default."""


def status_text(facts: Sequence[Fact]) -> Content:
    rows = [
        Content.assemble(
            (f"{fact.name:<{NAME_WIDTH}}", "$tone-muted"), (sanitize_line(fact.text), fact.tone)
        )
        for fact in facts
        if fact.text
    ]
    return Content("\n").join(rows)


def todo_text(todos: Sequence[TodoItem]) -> Content:
    """Return the agent's whole to-do list."""
    rows = [
        Content.styled(
            f"{_GLYPHS[item.status]} {sanitize_line(item.content)}",
            "$tone-muted" if item.status in {"completed", "cancelled"} else "",
        )
        for item in todos
    ]
    return Content("\n").join(rows)
