"""Actions on shell commands in the background."""

import time

from agent.records.events import Event, ShellChanged
from app.commands.context import ActionContext
from app.commands.keymap import Keymap
from app.commands.registry import DETACH, action
from app.screens.shells import ShellScreen, ShellsScreen, shell_rows
from app.session.live import LiveSession
from app.text.units import count
from app.toolkit.tasks import show_dialog
from app.widgets.input.prompt import Prompt

NOTHING_RUNS = "Nothing runs that could go to the background."


@action("shells.list", "Commands in the background", "Session", slash=("shells", "bashes"))
async def shells(context: ActionContext, argument: str) -> None:
    """List the commands; enter shows the output of one, and closing it returns to the list."""
    del argument
    service = context.live.runtime.shells
    if not service.snapshot():
        context.notify("Nothing has been started in the background.")
        return

    def kill(shell_id: str) -> None:
        context.tasks.spawn(service.kill(shell_id), "ending a command")

    while True:
        screen = ShellsScreen(service.snapshot(), now=time.time(), kill=kill)
        following = context.tasks.spawn(_follow(context, screen), "listing commands")
        try:
            chosen = await show_dialog(context.app, screen)
        finally:
            following.cancel()
        shell = service.find(chosen) if chosen is not None else None
        if shell is None:
            return
        await show_dialog(context.app, ShellScreen(shell, service, clock=time.time, kill=kill))


async def _follow(context: ActionContext, screen: ShellsScreen) -> None:
    """Keep the list up to date while it is open."""

    def is_change(event: Event) -> bool:
        return isinstance(event, ShellChanged)

    with context.live.runtime.bus.subscribe(is_change) as events:
        async for _ in events:
            if screen.is_attached:
                screen.set_rows(shell_rows(context.live.runtime.shells.snapshot(), time.time()))


def can_detach(live: LiveSession, prompt: Prompt) -> bool:
    """Return whether a command or a sub-agent can go to the background and the prompt is empty: in
    a text the key moves the cursor."""
    session = live.session
    if session is None or not live.is_ready or prompt.text:
        return False
    runtime = live.runtime
    subagents = runtime.sessions.subagents
    return subagents.can_detach(session.id) or runtime.shells.can_detach(session.id)


def detach_key(live: LiveSession, prompt: Prompt, keys: Keymap) -> str:
    """Return the key that would send a command to the background now, empty for none."""
    detach_keys = keys.keys_of(DETACH) if can_detach(live, prompt) else ()
    return detach_keys[0] if detach_keys else ""


@action(
    DETACH,
    "Send what runs to the background",
    "Session",
    keys=("ctrl+b",),
    when=can_detach,
)
async def detach(context: ActionContext, argument: str) -> None:
    """Send the sub-agents that the turn waits for to the background, or else its commands."""
    del argument
    session = context.live.session
    if session is None:
        context.notify(NOTHING_RUNS)
    elif sent := context.live.runtime.sessions.subagents.detach(session.id):
        context.notify(f"{count(sent, 'sub-agent')} sent to the background.")
    elif sent := context.live.runtime.shells.detach(session.id):
        context.notify(f"{count(sent, 'command')} sent to the background. /shells lists them.")
    else:
        context.notify(NOTHING_RUNS)
