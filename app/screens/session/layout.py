"""What the main screen has beside its first frame: it comes right after that, and shows itself
only once there is something to show in it (spec 9, Q1)."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.commands.registry import Action
from app.widgets.activity import WorkingLine
from app.widgets.breadcrumbs import Breadcrumbs
from app.widgets.sidebar import Sidebar
from app.widgets.slash import Entry, SlashList
from app.widgets.transcript.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Parts:
    """Widgets of ``SessionScreen``, which puts them in their places."""

    breadcrumbs: Breadcrumbs
    transcript: Transcript
    sidebar: Sidebar
    slash: SlashList
    working: WorkingLine

    def list_actions(self, actions: Sequence[Action]) -> None:
        """Other commands to list."""
        self.slash.set_entries(entries_of(actions))


def parts_for(actions: Sequence[Action]) -> Parts:
    """The parts of a screen where *actions* can be called."""
    transcript = Transcript(id="transcript")
    transcript.can_focus = False
    transcript.display = False
    return Parts(
        breadcrumbs=Breadcrumbs(id="breadcrumbs"),
        transcript=transcript,
        sidebar=Sidebar(id="sidebar"),
        slash=SlashList(entries_of(actions), id="slash"),
        working=WorkingLine(id="working"),
    )


def entries_of(actions: Sequence[Action]) -> list[Entry]:
    """The rows of the list of commands."""
    return [Entry(a.slash[0], a.slash[1:], a.title) for a in actions if a.slash]
