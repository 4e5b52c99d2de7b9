"""Labels of tool calls."""

from dataclasses import replace

from agent.records.blocks import ToolLabel
from agent.records.messages import Failed, Pending, ToolPart

SUBJECT_ARGUMENTS = (
    "file_path",
    "path",
    "pattern",
    "command",
    "query",
    "url",
    "description",
    "name",
)
"""Arguments that name the subject of a call best, the best first."""


def label_of(part: ToolPart) -> ToolLabel:
    """Return the label of a call; for a call that never ran, the tool's title and its main
    argument."""
    label = None if isinstance(part.state, Pending) else part.state.label
    if label is None or not label.verb:
        label = ToolLabel(part.title or part.tool.replace("_", " ").capitalize())
    if isinstance(part.state, Failed) and not label.object:
        return replace(label, object=_given(part.state))
    return label


def _given(state: Failed) -> str:
    given = state.input or {}
    values = (given.get(name) for name in SUBJECT_ARGUMENTS)
    return next((value for value in values if isinstance(value, str)), "")
