"""The pipeline that every tool call goes through.

    find by name → validate → hooks before → prepare → permission → execute → hooks after
    → diagnostics → truncate and spill

A call ends with one of two outcomes and never with an exception, except for ``CancelledError``:
any fault of a tool is caught here. A command that the user edits, and arguments that a hook
changes, are validated again.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from agent.hooks.service import Hooks
from agent.permission.decision_records import refusal
from agent.permission.service import PermissionContext, PermissionService
from agent.records.blocks import Block, ToolLabel
from agent.records.decisions import Decision
from agent.records.errors import InvalidArguments, PermissionRejected, ToolError, ToolStopped
from agent.records.frozen import frozen
from agent.records.json import JsonObject, encodable
from agent.records.messages import FailureKind, FilePart
from agent.records.requests import PermissionNeed, PermissionReply
from agent.records.sandbox import SandboxGrant
from agent.redact import without_known_secrets
from agent.tools.builtin_tools import BuiltinTool
from agent.tools.core.arguments import parse_arguments, validate, with_edited_command
from agent.tools.core.call_hooks import CallHooks, PreToolOutcome
from agent.tools.core.tool import Plan, Result, ToolContext
from agent.tools.core.truncate import Truncated, Truncator, encodable_record
from agent.tools.files.later_changes import (
    CHANGED_BY_COMMAND,
    contents,
    known_contents,
    with_later_changes,
)
from agent.tools.registry import AnyTool, Registry
from agent.tracing import Tracing

if TYPE_CHECKING:  # loads pydantic
    from agent.tools.core.tool_args import ToolArgs

log = logging.getLogger(__name__)


class CallObserver(Protocol):
    """Gets the progress of a call, to store and show it."""

    async def on_running(
        self, arguments: JsonObject, label: ToolLabel, blocks: tuple[Block, ...]
    ) -> None:
        """The call is prepared. Called again after the user edits the command."""
        ...

    def on_request(self, request_id: str | None) -> None:
        """The call waits for a request (its id), or no longer (None)."""
        ...

    def on_judging(self) -> None:
        """The judge is asked about the call, until ``on_request`` comes."""
        ...

    def on_terminal(self, terminal: str) -> None:
        """The call runs in a terminal of the user's editor (its id)."""
        ...

    def on_decision(self, consent: Decision) -> None:
        """A user, rule or hook allowed or refused the call."""
        ...


@frozen(kw_only=True)
class ResolvedCall:
    """A call whose tool was found and whose arguments are valid."""

    name: str
    input: JsonObject
    """The arguments of the model, repaired."""

    safe: bool
    """The call can run in parallel to others."""

    polling: bool
    tool: AnyTool
    args: "ToolArgs"


@frozen(kw_only=True)
class CallCompleted:
    """A call with a result."""

    input: JsonObject
    label: ToolLabel
    output: str
    blocks: tuple[Block, ...] = ()
    facts: tuple[str, ...] = ()
    exit_code: int | None = None
    spill: str | None = None
    files: tuple[FilePart, ...] = ()
    reminders: tuple[str, ...] = ()
    """Reminders in addition to the result: the user's comments, additions of hooks."""

    cancels_siblings: bool = False
    """Cancels the other calls of its step."""

    stop_turn: bool = False
    """A hook ends the turn after this call."""

    touched: tuple[str, ...] = ()
    """The files that it read or changed."""


@frozen(kw_only=True)
class CallFailed:
    """A call without a result."""

    kind: FailureKind
    error: str
    """The error, for the model."""

    input: JsonObject | None = None
    label: ToolLabel = field(default_factory=lambda: ToolLabel(""))
    blocks: tuple[Block, ...] = ()
    output: str = ""
    reminders: tuple[str, ...] = ()
    stop_turn: bool = False
    """The user refused the call without feedback for the model."""


CallOutcome: TypeAlias = CallCompleted | CallFailed


@dataclass(slots=True)
class _Progress:
    """The last known input, label and blocks of a call, which its failure shows."""

    input: JsonObject
    label: ToolLabel
    blocks: tuple[Block, ...] = ()


class Pipeline:
    """Runs calls. It is built once and has no state of a call."""

    def __init__(
        self,
        registry: Registry,
        permissions: PermissionService,
        truncator: Truncator,
        tracing: Tracing | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        self._hooks = hooks
        self._tracing = tracing or Tracing({})
        self._registry = registry
        self._permissions = permissions
        self._truncator = truncator

    @property
    def truncator(self) -> Truncator:
        """Return the truncator of all that the model reads."""
        return self._truncator

    def verb(self, name: str) -> str:
        """Return the verb of the tool's labels, "" for an unknown tool."""
        tool = self._registry.find(name)
        return tool.spec.verb if tool is not None else ""

    def preload(self, name: str) -> None:
        """Load the module of the tool *name* in a thread, while its input still arrives."""
        tool = self._registry.find(name)
        if isinstance(tool, BuiltinTool):
            asyncio.get_running_loop().run_in_executor(None, tool.preload)

    def resolve(
        self, name: str, arguments: str, offered: Collection[str] | None = None
    ) -> ResolvedCall | CallFailed:
        """Find the tool and validate its *arguments*, the JSON text of the model.

        An error about an unknown name lists the *offered* tools (None: all).
        """
        tool = self._registry.find(name)
        if tool is None:
            names = self._registry.names
            known = ", ".join(n for n in names if offered is None or n in offered) or "none"
            shown = encodable(name)[:80]
            return CallFailed(
                kind="invalid",
                error=f"There is no tool named {shown!r}. The tools are: {known}.",
                label=ToolLabel(shown),
            )
        label = ToolLabel(tool.spec.verb)
        values: JsonObject | None = None
        try:
            values = {**parse_arguments(arguments), **self._registry.implied_arguments(name)}
            args, values = validate(tool.args, values)
        except InvalidArguments as error:
            return CallFailed(kind="invalid", error=str(error), input=values, label=label)
        return ResolvedCall(
            name=tool.spec.name,
            input=values,
            safe=self._safe(tool, args),
            polling=tool.spec.polling,
            tool=tool,
            args=args,
        )

    def _safe(self, tool: AnyTool, args: "ToolArgs") -> bool:
        try:
            return tool.concurrency_safe(args)
        except Exception:
            log.exception("the tool %s could not tell whether a call is safe", tool.spec.name)
            return False

    async def run(
        self, call: ResolvedCall, context: ToolContext, observer: CallObserver
    ) -> CallOutcome:
        """Run *call* from ``prepare`` to its outcome, in a tracing span."""
        with self._tracing.span(
            f"execute_tool {call.name}",
            gen_ai__operation__name="execute_tool",
            gen_ai__agent__name=context.agent,
            gen_ai__tool__name=call.name,
            gen_ai__tool__call__id=context.call_id,
            gen_ai__conversation__id=context.session_id,
        ) as span:
            hooks = self._hooks_for(call, context)
            outcome = await self._outcome(call, context, observer, hooks)
            if isinstance(outcome, CallFailed):
                span.failed(outcome.kind, "")
                if outcome.kind == "error" and hooks is not None:
                    notes = await hooks.after_failure(outcome.input or call.input, outcome.error)
                    outcome = replace(outcome, reminders=_reminders(notes))
            return outcome

    async def _outcome(
        self,
        call: ResolvedCall,
        context: ToolContext,
        observer: CallObserver,
        hooks: CallHooks | None,
    ) -> CallOutcome:
        """Run *call*, and turn whatever it raises into an outcome.

        The ``ask`` of *context* is replaced by one whose requests belong to this call.
        """
        asking = replace(
            context.asking(call.name),
            on_request=observer.on_request,
            on_judging=observer.on_judging,
            on_decision=observer.on_decision,
            judge=context.judge,
        )

        async def ask(
            needs: tuple[PermissionNeed, ...], heading: str, blocks: tuple[Block, ...] = (), /
        ) -> PermissionReply:
            shown = blocks or progress.blocks
            reply = await self._permissions.ask(asking, needs, heading, shown)
            return reply or PermissionReply("once")

        context = replace(
            context,
            ask=ask,
            read_rules=partial(self._permissions.read_rules, asking, context.project),
            on_request=observer.on_request,
            on_terminal=observer.on_terminal,
        )
        progress = _Progress(call.input, ToolLabel(call.tool.spec.verb))
        try:
            return await self._steps(call, context, observer, asking, progress, hooks)
        except InvalidArguments as error:
            return self._failed("invalid", str(error), call, progress)
        except PermissionRejected as error:
            if error.withdrawn:
                return self._failed("aborted", str(error), call, progress)
            stop = not error.by_rule and not error.feedback
            return self._failed("denied", str(error), call, progress, stop_turn=stop)
        except ToolError as error:
            kind: FailureKind = "aborted" if isinstance(error, ToolStopped) else "error"
            return self._failed(kind, str(error), call, progress)
        except Exception as error:
            log.exception("the tool %s failed", call.name)
            text = f"The tool {call.name} failed: {type(error).__name__}: {error}"
            return self._failed("error", text, call, progress)

    async def _steps(
        self,
        call: ResolvedCall,
        context: ToolContext,
        observer: CallObserver,
        asking: PermissionContext,
        progress: _Progress,
        hooks: CallHooks | None,
    ) -> CallCompleted:
        comments: list[str] = []
        granted: list[SandboxGrant] = []
        replied = PermissionReply("once") if context.approved else None
        while True:
            before = PreToolOutcome()
            if hooks is not None:
                before = await _run_before_hooks(hooks, call, observer)
                call = self._changed(call, before)
                progress.input = call.input
                asking = replace(
                    asking,
                    allowed_by_hook=before.approved,
                    ask_hooks=partial(hooks.on_permission_request, call.input),
                )
                comments += before.notes
            plan = await self._prepare(call, context, observer, progress)
            if before.need is not None:
                plan = replace(plan, needs=(*plan.needs, before.need))
            asking = replace(asking, on_sandbox=granted.append if plan.sandboxed else None)
            reply: PermissionReply | None = None
            if context.by_user:
                break
            if replied is not None:
                await self._permissions.allow_edited(asking, plan.needs, replied)
                reply = replied
                break
            if plan.needs:
                reply = await self._permissions.ask(asking, plan.needs, plan.heading, plan.blocks)
            if reply is not None and reply.comment:
                comments.append(f"The user allowed the {call.name} call and said: {reply.comment}")
            edited = with_edited_command(call.tool.args, call.input, reply)
            if edited is None:
                break
            # The user's own command needs no second request, but a deny rule still applies.
            replied = reply
            args, edited = validate(call.tool.args, edited)
            call = replace(call, input=edited, args=args)
            comments.append(f"The user edited the command. This ran instead: {edited['command']}")
        context = replace(context, sandbox=granted[-1]) if granted else context
        changes = call.tool.spec.changes_indirectly or not call.safe
        if context.before_change is not None and changes:
            # A hook may change any file.
            await context.before_change(plan.writes, hooks is None)
        result = await _execute(call, plan, reply, context)
        result, notes, stop = await _run_after_hooks(hooks, call, result, context)
        comments += notes
        result = await _with_diagnostics(call, result, context)
        done = await self._completed(call, result, comments, progress)
        return replace(done, stop_turn=stop) if stop else done

    def _hooks_for(self, call: ResolvedCall, context: ToolContext) -> CallHooks | None:
        if self._hooks is None or not self._hooks.all:
            return None
        return CallHooks(self._hooks, call.name, context)

    def _changed(self, call: ResolvedCall, before: PreToolOutcome) -> ResolvedCall:
        """Return *call* with the arguments of a hook, validated like the model's."""
        if before.input is None:
            return call
        args, values = validate(call.tool.args, before.input)
        return replace(call, input=values, args=args, safe=self._safe(call.tool, args))

    async def _prepare(
        self,
        call: ResolvedCall,
        context: ToolContext,
        observer: CallObserver,
        progress: _Progress,
    ) -> Plan[Any]:
        plan = await call.tool.prepare(call.args, context)
        plan = replace(
            plan, label=encodable_record(plan.label), blocks=encodable_record(plan.blocks)
        )
        progress.input, progress.label, progress.blocks = call.input, plan.label, plan.blocks
        await observer.on_running(call.input, plan.label, plan.blocks)
        return plan

    async def _completed(
        self, call: ResolvedCall, result: Result, comments: list[str], progress: _Progress
    ) -> CallCompleted:
        cut = await self._truncated(call.tool, result)
        blocks = progress.blocks if result.blocks is None else encodable_record(result.blocks)
        return CallCompleted(
            input=call.input,
            label=encodable_record(result.label or progress.label),
            output=cut.text,
            blocks=blocks,
            facts=encodable_record(result.facts),
            exit_code=result.exit_code,
            spill=cut.spill or result.spill,
            files=result.files,
            reminders=_reminders(comments),
            cancels_siblings=result.failed,
            touched=result.touched,
        )

    async def _truncated(self, tool: AnyTool, result: Result) -> Truncated:
        text = without_known_secrets(encodable(result.output))
        if self._truncator.fits(text, paged=tool.spec.paginates):
            return Truncated(text)
        return await asyncio.to_thread(self._truncator.apply, text, tool.spec.kept_end)

    def _failed(
        self,
        kind: FailureKind,
        error: str,
        call: ResolvedCall,
        progress: _Progress,
        *,
        stop_turn: bool = False,
    ) -> CallFailed:
        return CallFailed(
            kind=kind,
            error=self._truncator.shorten(
                without_known_secrets(encodable(error)), call.tool.spec.kept_end
            ),
            input=progress.input,
            label=progress.label,
            blocks=progress.blocks,
            stop_turn=stop_turn,
        )


def _reminders(notes: Iterable[str]) -> tuple[str, ...]:
    """Return *notes* as the model reads them: like outputs, they can contain a secret."""
    return tuple(without_known_secrets(encodable(note)) for note in notes)


async def _execute(
    call: ResolvedCall, plan: Plan[Any], reply: PermissionReply | None, context: ToolContext
) -> Result:
    """Run the call; a command's result tells which files that the model knows it has changed."""
    command = call.input.get("command")
    if call.safe or not isinstance(command, str):
        return await call.tool.execute(plan, reply, context)
    before = await known_contents(command, context)
    result = await call.tool.execute(plan, reply, context)
    return await with_later_changes(result, before, context, CHANGED_BY_COMMAND)


async def _run_before_hooks(
    hooks: CallHooks, call: ResolvedCall, observer: CallObserver
) -> PreToolOutcome:
    try:
        return await hooks.before_call(call.input)
    except PermissionRejected as error:
        observer.on_decision(refusal("hook", str(error)))
        raise


async def _run_after_hooks(
    hooks: CallHooks | None, call: ResolvedCall, result: Result, context: ToolContext
) -> tuple[Result, tuple[str, ...], bool]:
    """Return the result as the hooks left it, their notes, and whether they end the turn."""
    if hooks is None or not hooks.runs_after(call.input):
        return result, (), False
    before = await contents(() if call.safe else result.touched)
    result, notes, stop = await hooks.after_call(call.input, result)
    return await with_later_changes(result, before, context), notes, stop


async def _with_diagnostics(call: ResolvedCall, result: Result, context: ToolContext) -> Result:
    """Return *result* with the diagnostics of the files that the call changed."""
    if context.file_checks is None or not result.touched:
        return result
    if call.safe:
        context.file_checks.warm_up(result.touched)
        return result
    found = await context.file_checks.error_report(context.session_id, result.touched)
    return replace(result, output=f"{result.output}\n\n{found}") if found else result
