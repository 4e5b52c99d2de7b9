"""The widgets of the main screen that its first frame does without.

They are created right after the first frame, and each shows itself only once it has something to
show.
"""

from collections.abc import Sequence

from agent.records.frozen import frozen
from app.action_registry.registry import Action
from app.session_state.notices import NoticeLog
from app.widgets.activity import ActivityLine
from app.widgets.completion_list import CompletionList, SlashEntry
from app.widgets.notice_line import NoticeLine
from app.widgets.session_bars import Breadcrumbs, LiveStrip
from app.widgets.sidebar import Sidebar
from app.widgets.transcript.transcript import Transcript


@frozen
class SessionWidgets:
    """Widgets that ``SessionScreen`` mounts in their places."""

    breadcrumbs: Breadcrumbs
    transcript: Transcript
    sidebar: Sidebar
    completions: CompletionList
    activity: ActivityLine
    notices: NoticeLine
    live_strip: LiveStrip

    def list_actions(self, actions: Sequence[Action]) -> None:
        self.completions.set_entries(slash_entries(actions))


def create_widgets(actions: Sequence[Action], notices: NoticeLog) -> SessionWidgets:
    """Create the widgets of a screen where *actions* can be called and *notices* come up."""
    transcript = Transcript(id="transcript")
    transcript.can_focus = False
    transcript.display = False
    return SessionWidgets(
        breadcrumbs=Breadcrumbs(id="breadcrumbs"),
        transcript=transcript,
        sidebar=Sidebar(id="sidebar"),
        completions=CompletionList(slash_entries(actions), id="completions"),
        activity=ActivityLine(id="activity"),
        notices=NoticeLine(notices, id="notices"),
        live_strip=LiveStrip(id="live-strip"),
    )


def slash_entries(actions: Sequence[Action]) -> list[SlashEntry]:
    return [
        SlashEntry(action.slash[0], action.slash[1:], action.title)
        for action in actions
        if action.slash
    ]
