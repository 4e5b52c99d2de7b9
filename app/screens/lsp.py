"""The page of language servers and formatters with their status."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from agent.lsp.formatters import Formatter
from agent.lsp.records import LspStatus, ServerSpec
from app.screens.base.page import PageScreen
from app.text.sanitize import sanitize_line
from app.text.units import count

GLYPHS = {"starting": "◐", "ready": "●", "failed": "✕", "ended": "○"}
TONES = {
    "starting": "$tone-accent",
    "ready": "$tone-ok",
    "failed": "$tone-err",
    "ended": "$tone-muted",
}

NO_SERVER = (
    "No language server is in use. One that is on your PATH is started with the first file of "
    'its kind; "lsp": true in your settings uses those too that load code of the project.'
)
NO_FORMATTER = 'No formatter is switched on. "formatter": true in your settings does that.'


def lsp_text(
    statuses: Sequence[LspStatus], specs: Sequence[ServerSpec], formatters: Sequence[Formatter]
) -> Content:
    """Return the whole page."""
    lines = [Content.styled("Language servers", "bold")]
    lines += [_server_row(status) for status in statuses]
    running = {status.id for status in statuses}
    lines += [_idle_server_row(spec) for spec in specs if spec.id not in running]
    if len(lines) == 1:
        lines.append(Content.styled(NO_SERVER, "$tone-muted"))
    lines += [Content(""), Content.styled("Formatters", "bold")]
    lines += [_formatter_row(formatter) for formatter in formatters] or [
        Content.styled(NO_FORMATTER, "$tone-muted")
    ]
    return Content("\n").join(lines)


def _server_row(status: LspStatus) -> Content:
    facts = [sanitize_line(status.root)]
    if status.state == "ready":
        facts += [count(status.files, "file"), count(status.errors, "error")]
    line = Content.assemble(
        (f"{GLYPHS[status.state]} {sanitize_line(status.id)}", TONES[status.state]),
        (f"  {'  '.join(facts)}", "$tone-muted"),
    )
    return line + Content(f"\n  {sanitize_line(status.reason)}") if status.reason else line


def _idle_server_row(spec: ServerSpec) -> Content:
    extensions = " ".join(spec.extensions)
    return Content.styled(
        f"○ {sanitize_line(spec.id)}  starts with a file of {extensions}", "$tone-muted"
    )


def _formatter_row(formatter: Formatter) -> Content:
    return Content.assemble(
        f"  {sanitize_line(formatter.id)}",
        (
            f"  {sanitize_line(' '.join(formatter.command))}  {' '.join(formatter.extensions)}",
            "$tone-muted",
        ),
    )


class LspScreen(PageScreen):
    """Shows the page; *restart* stops every server."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+r", "restart", "Restart")]

    def __init__(self, text: Content, restart: Callable[[], object]) -> None:
        super().__init__("Language servers and formatters", text, hints=(("ctrl+r", "restart"),))
        self._restart = restart

    def action_restart(self) -> None:
        self._restart()
        self.dismiss(None)
