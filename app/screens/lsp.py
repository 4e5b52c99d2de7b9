"""Language servers and formatters: which there are and how they stand (spec 10, X6 and X7)."""

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

NONE = (
    "No language server is in use. One that is on your PATH is started with the first file of "
    'its kind; "lsp": true in your settings uses those too that load code of the project.'
)
NO_FORMATTER = 'No formatter is switched on. "formatter": true in your settings does that.'


def lsp_text(
    statuses: Sequence[LspStatus], specs: Sequence[ServerSpec], formatters: Sequence[Formatter]
) -> Content:
    """All that is known of them."""
    lines = [Content.styled("Language servers", "bold")]
    lines += [_server(status) for status in statuses]
    running = {status.id for status in statuses}
    lines += [_waiting(spec) for spec in specs if spec.id not in running]
    if len(lines) == 1:
        lines.append(Content.styled(NONE, "$tone-muted"))
    lines += [Content(""), Content.styled("Formatters", "bold")]
    lines += [_formatter(one) for one in formatters] or [
        Content.styled(NO_FORMATTER, "$tone-muted")
    ]
    return Content("\n").join(lines)


def _server(status: LspStatus) -> Content:
    facts = [sanitize_line(status.root)]
    if status.state == "ready":
        facts += [count(status.files, "file"), count(status.errors, "error")]
    line = Content.assemble(
        (f"{GLYPHS[status.state]} {sanitize_line(status.id)}", TONES[status.state]),
        (f"  {'  '.join(facts)}", "$tone-muted"),
    )
    return line + Content(f"\n  {sanitize_line(status.reason)}") if status.reason else line


def _waiting(spec: ServerSpec) -> Content:
    ends = " ".join(spec.extensions)
    return Content.styled(
        f"○ {sanitize_line(spec.id)}  starts with a file of {ends}", "$tone-muted"
    )


def _formatter(one: Formatter) -> Content:
    return Content.assemble(
        f"  {sanitize_line(one.id)}",
        (f"  {sanitize_line(' '.join(one.command))}  {' '.join(one.extensions)}", "$tone-muted"),
    )


class LspScreen(PageScreen):
    """Gives nothing back; *restart* ends every server."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+r", "restart", "Restart")]

    def __init__(self, text: Content, restart: Callable[[], object]) -> None:
        super().__init__("Language servers and formatters", text, hints=(("ctrl+r", "restart"),))
        self._restart = restart

    def action_restart(self) -> None:
        self._restart()
        self.dismiss(None)
