"""What a tool call is called wherever it is shown."""

from agent.display import ToolLabel
from agent.model import Pending, ToolPart


def label_of(part: ToolPart) -> ToolLabel:
    """The call as a sentence: of one that came to none, what its tool is called."""
    label = None if isinstance(part.state, Pending) else part.state.label
    if label is not None and label.verb:
        return label
    return ToolLabel(part.title or part.tool.replace("_", " ").capitalize())
