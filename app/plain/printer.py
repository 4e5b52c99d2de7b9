"""The printer of events as plain text, for ``--plain`` and ``run``."""

from typing import TextIO, assert_never

from agent.records.decisions import explain_verdict
from agent.records.events import (
    Event,
    MessageUpdated,
    Notice,
    PartDelta,
    PartUpdated,
    SessionError,
    SessionIdle,
    SessionStatusChanged,
)
from agent.records.labels import label_of
from agent.records.messages import (
    Completed,
    Failed,
    Pending,
    ReportPart,
    Retry,
    RetryPart,
    Running,
    TextPart,
    ToolPart,
    UserMessage,
)
from agent.records.requests import FormField, PermissionRequest, Question
from agent.records.sandbox import sandbox_label
from app.text.sanitize import sanitize, sanitize_line, without_colors


class Printer:
    """Prints events: text streams; a tool call is one line when it starts and one when it ends.

    All text is sanitized; no escape sequence is written.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._printed: dict[str, int] = {}
        self._states: dict[str, str] = {}
        self._skipped: set[str] = set()
        self._reports: set[ReportPart] = set()
        self._fresh = True
        self.show_outputs = False
        """True to print what calls returned, in full."""

    def skip_message(self, message_id: str) -> None:
        """Do not print the message of that id, such as the user's own."""
        self._skipped.add(message_id)

    def line(self, text: str) -> None:
        """Print *text* on lines of its own."""
        self.end_line()
        self._write(sanitize(text) + "\n")

    def end_line(self) -> None:
        if not self._fresh:
            self._write("\n")

    def show_permission(self, request: PermissionRequest, pending: int) -> None:
        """Print a permission request in full."""
        count = f"  (1 of {pending} waiting)" if pending > 1 else ""
        self.line(f"\n{request.heading}  [{request.agent}]{count}")
        if request.blocks:
            from app.widgets.permission_subject import (  # loads Textual: only for a request
                plain_text,
            )

            self.line("\n".join(plain_text(request.blocks)))
        for judged in request.needs:
            need = judged.need
            reason = judged.reason or need.reason
            self.line(f"  {judged.action:5}  {sanitize_line(need.shown or need.pattern)}  {reason}")
        self.line(f"  folder {request.folder}")
        if request.sandbox is not None:
            label = sandbox_label(request.sandbox.level, network=request.sandbox.network)
            leave = "; w allows it once without a sandbox" if request.can_leave_sandbox else ""
            self.line(f"  sandbox {label}{leave}")
        if request.verdict is not None:
            self.line(f"  judge {sanitize_line(explain_verdict(request.verdict))}")
        if request.always:
            patterns = ", ".join(f"{permission}: {text}" for permission, text in request.always)
            self.line(f"  always would allow {patterns} for this session")

    def show_question(self, question: Question) -> None:
        """Print a question of the model with its options by number."""
        of = f"  ({question.number} of {question.total})" if question.total > 1 else ""
        self.line(f"\n{question.header or 'A question'}  [{question.agent}]{of}")
        self.line(question.text)
        if question.fields:
            self.line("An empty line takes the default or leaves a field out.")
            self.line("/decline refuses the form, /skip cancels it.")
            return
        for number, option in enumerate(question.options, 1):
            note = f"  {option.description}" if option.description else ""
            self.line(sanitize_line(f"  {number}  {option.label}{note}"))
        several = "Numbers (with spaces between)" if question.multiple else "A number"
        how = f"{several} or your own words" if question.options else "Your answer"
        self.line(f"{how}; /skip answers nothing and stops.")

    def show_field(self, field: FormField) -> None:
        """Print a field of a form with its choices by number."""
        from agent.mcp.forms import hint_of  # reads JSON schemas

        several = "numbers with spaces between" if field.multiple else "a number"
        default = f"default {', '.join(field.default)}" if field.default else ""
        need = default or ("required" if field.required else "optional")
        how = several if field.choices else hint_of(field)
        facts = ", ".join(part for part in (how, need) if part)
        note = f" - {field.note}" if field.note else ""
        self.line(sanitize_line(f"\n{field.label}{note} ({facts})"))
        for number, label in enumerate(field.choices, 1):
            self.line(sanitize_line(f"  {number}  {label}"))

    def show(self, event: Event) -> None:
        """Print *event*, or nothing if it is not for users."""
        match event:
            case MessageUpdated(message=UserMessage(id=message_id)):
                self._skipped.add(message_id)
            case PartDelta(field="text", part_id=part_id, offset=offset, delta=delta):
                if part_id in self._printed:
                    self._stream(part_id, offset, delta)
            case PartUpdated(part=TextPart() as part):
                if part.message_id not in self._skipped and not part.synthetic:
                    self._text(part)
            case PartUpdated(part=ToolPart() as part):
                self._tool(part)
            case PartUpdated(part=ReportPart() as part):
                self._report(part)
            case PartUpdated(part=RetryPart(change=change) as part) if change:
                self.line(f"{change} {sanitize_line(part.error.message)}")
            case SessionStatusChanged(status=Retry(message=message)):
                self.line(f"The provider failed: {sanitize_line(message)} Trying again.")
            case Notice(message=message):
                self.line(message)
            case SessionError(error=error):
                self.line(error.message)
            case SessionIdle():
                self._idle(event)
            case _:
                pass

    def _text(self, part: TextPart) -> None:
        if part.id not in self._printed:
            self.end_line()
            self._printed[part.id] = 0
        self._stream(part.id, 0, part.text)
        if part.ended is not None:
            self.end_line()

    def _stream(self, part_id: str, offset: int, text: str) -> None:
        known = self._printed[part_id]
        new = text[max(0, known - offset) :]
        if new:
            self._printed[part_id] = offset + len(text)
            self._write(sanitize(new))

    def _tool(self, part: ToolPart) -> None:
        state = part.state
        if self._states.get(part.id) == state.status:
            return
        self._states[part.id] = state.status
        label = label_of(part)
        match state:
            case Pending():
                pass
            case Running():
                self.line(sanitize_line(f"-> {label.verb} {label.object} {label.note}").rstrip())
            case Completed(facts=facts):
                done = (f"{label.verb} {label.object} {label.note}".strip(), *facts)
                self.line(sanitize_line("ok " + "  ".join(done)))
                for verdict in part.verdicts:
                    self.line(f"   {sanitize_line(explain_verdict(verdict))}")
                if self.show_outputs:
                    self._output(part)
            case Failed(kind=kind, error=error):
                what = f"{label.verb} {label.object}".strip()
                first = without_colors(error).strip().partition("\n")[0]
                self.line(f"{kind}: {sanitize_line(what)}: {first}")
            case _:
                assert_never(state)

    def _output(self, part: ToolPart) -> None:
        from agent.transfer.bundle import full_output  # only for a user's own command

        if output := without_colors(full_output(part)).rstrip("\n"):
            self.line(output)

    def _report(self, part: ReportPart) -> None:
        """Print the result of a background sub-agent."""
        if part.identity not in self._reports:
            self._reports.add(part.identity)
            self.line("\n".join(one for one in (sanitize_line(part.headline), part.body) if one))

    def _idle(self, event: SessionIdle) -> None:
        self.end_line()
        if event.error is not None:
            self.line(event.error.message)
        elif event.outcome != "completed":
            self.line(f"({event.outcome.replace('_', ' ')})")

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()
        self._fresh = text.endswith("\n")
