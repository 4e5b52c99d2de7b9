"""Actions on the folder that is open."""

from app.commands.context import BUSY, Context
from app.commands.registry import action
from app.screens.permission.trust import TrustScreen
from app.toolkit.tasks import show_dialog


@action("folder.trust", "Review or change the trust in this folder", "Program", slash=("trust",))
async def trust(context: Context, argument: str) -> None:
    """Show where the folder stands and take another answer; the settings are read anew."""
    del argument
    runtime = context.live.runtime
    if runtime.sessions.busy:
        context.tell(BUSY)
        return
    now = await runtime.trust.anew()
    screen = TrustScreen(now.question(), status=now.standing, grace=0.0)
    answer = await show_dialog(context.app, screen)
    if answer is not None and answer != "later":
        now.say(answer)
        await context.reopen()
        context.tell("This folder is trusted." if answer == "trust" else "Nothing of it is used.")
