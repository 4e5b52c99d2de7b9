"""Actions on language servers."""

from app.commands.context import Context
from app.commands.registry import action
from app.toolkit.tasks import show_dialog


@action("lsp.show", "Language servers and formatters", "Program", slash=("lsp", "formatters"))
async def lsp(context: Context, argument: str) -> None:
    """How they stand; ctrl+r ends them all, so that they come up anew."""
    from app.screens.lsp import LspScreen, lsp_text  # brings the harness

    del argument
    runtime = context.live.runtime
    text = lsp_text(
        runtime.code.servers.statuses, runtime.code.servers.specs, runtime.code.aftercare.formatters
    )

    def restart() -> None:
        context.tasks.spawn(runtime.code.servers.restart(), "restarting language servers")
        context.tell("Ended. They come up with the next file that is read or changed.")

    await show_dialog(context.app, LspScreen(text, restart))
