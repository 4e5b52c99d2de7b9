"""What the main screen has beside its first frame: it comes right after that, and shows itself
only once there is something to show in it (spec 9, Q1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.commands.registry import Action
from app.widgets.activity import ActivityLine
from app.widgets.breadcrumbs import Breadcrumbs
from app.widgets.completion_list import CommandEntry, CompletionList
from app.widgets.sidebar import Sidebar
from app.widgets.transcript.transcript import Transcript


@dataclass(frozen=True, slots=True)
class SessionWidgets:
    """Widgets of ``SessionScreen``, which puts them in their places."""

    breadcrumbs: Breadcrumbs
    transcript: Transcript
    sidebar: Sidebar
    completions: CompletionList
    activity: ActivityLine

    def list_actions(self, actions: Sequence[Action]) -> None:
        """Other commands to list."""
        self.completions.set_entries(command_entries(actions))


def create_widgets(actions: Sequence[Action]) -> SessionWidgets:
    """The parts of a screen where *actions* can be called."""
    transcript = Transcript(id="transcript")
    transcript.can_focus = False
    transcript.display = False
    return SessionWidgets(
        breadcrumbs=Breadcrumbs(id="breadcrumbs"),
        transcript=transcript,
        sidebar=Sidebar(id="sidebar"),
        completions=CompletionList(command_entries(actions), id="completions"),
        activity=ActivityLine(id="activity"),
    )


def command_entries(actions: Sequence[Action]) -> list[CommandEntry]:
    """The rows of the list of commands."""
    return [CommandEntry(a.slash[0], a.slash[1:], a.title) for a in actions if a.slash]
