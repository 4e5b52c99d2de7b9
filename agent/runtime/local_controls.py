"""The controls of a folder that this process has open."""

import time
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

from agent.mcp.records import ServerStatus
from agent.records.background import ShellInfo
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.memory import MemoryOrigin
from agent.records.messages import Session
from agent.records.requests import PermissionReply, PermissionRequest
from agent.records.spending import SpendingCap
from agent.runtime.folder_controls import (
    CodeState,
    Detached,
    FolderControls,
    FolderStatus,
    GuidanceState,
    InstructionFile,
    McpChange,
    MemoryFile,
    NewSession,
    RulesState,
    ShellOutput,
    Skill,
    SpendingState,
)
from agent.runtime.goal_and_loop import goal_command, loop_command
from agent.runtime.runtime import Runtime
from agent.session.fallback import FallbackState
from agent.session.review.context_usage import ContextUsage
from agent.session.subagents.subagents import lineage_of
from agent.store.stats import UsageRow

CHANGED = "The file was changed in the meantime, so nothing was written. Try again."


@frozen
class LocalControls:
    """The controls of a folder that this process has open."""

    runtime: Runtime

    @property
    def shell_output(self) -> ShellOutput:
        return self.runtime.shells

    async def status(self) -> FolderStatus:
        runtime = self.runtime
        return FolderStatus(
            trusted=runtime.trust.status in {"trusted", "nothing"},
            sandbox=await runtime.sandbox.status(),
            hooks=tuple(hook.sandbox for hook in runtime.hooks.all),
            servers=runtime.mcp.statuses(),
            languages=tuple(runtime.code.servers.statuses),
            shells=runtime.shells.snapshot(),
            settings=tuple(dict.fromkeys(runtime.config.sources.values())),
            log=str(runtime.paths.log),
        )

    async def usage(self, days: int) -> tuple[UsageRow, ...]:
        return await self.runtime.store.usage_rows(time.time() - days * 86_400)

    async def context(self, session_id: str | None, model: str, agent: str) -> ContextUsage:
        return await self.runtime.context_usage.measure(session_id, model, agent)

    async def spending(self, session_id: str | None) -> SpendingState:
        root_id, spending = await self._root(session_id), self.runtime.sessions.spending
        await spending.refresh(root_id)
        return SpendingState(await spending.caps(root_id), self.runtime.clients.rate_limits())

    async def set_cap(self, argument: str, new: NewSession) -> str:
        from agent.session.spending import parse_cap  # rarely needed

        scope, units, amount = parse_cap(argument)
        root_id = await self._root((await new()).id) if scope == "session" else None
        for unit in units:
            await self.runtime.sessions.spending.set_cap(root_id, scope, unit, amount)
        whose = "this session" if scope == "session" else "all sessions today"
        if amount is None:
            return f"There is no cap for {whose}."
        shown = SpendingCap(scope, units[0], 0, amount).format(amount)
        return f"The cap for {whose} is {shown}."

    async def fallback(self) -> FallbackState:
        return self.runtime.sessions.fallbacks.state()

    async def change_fallback(self, argument: str) -> str:
        return self.runtime.sessions.fallbacks.change(argument)

    async def guidance(self) -> GuidanceState:
        runtime = self.runtime
        directory, project = str(runtime.directory), str(runtime.project)
        found = await runtime.guidance.instructions.collect(directory, project, fetch=False)
        skills = await runtime.guidance.find_skills()
        return GuidanceState(
            tuple(InstructionFile(one.source, one.scope, len(one.text)) for one in found.files),
            tuple(Skill(one.name, one.description) for one in skills.skills.values()),
            (*found.notes, *skills.notes),
            runtime.trust.status in {"open", "refused"},
        )

    async def memory(self) -> MemoryFile:
        from agent.session.memory import memory_lines  # loads the tools that change files

        editor = self.runtime.guidance.instruction_editor
        path, lines = await memory_lines(self.runtime.store, editor)
        return MemoryFile(path, tuple(lines))

    async def propose_memory(self, session_id: str) -> tuple[str, ...]:
        from agent.session.memory import propose  # as above

        runtime = self.runtime
        editor = runtime.guidance.instruction_editor
        return await propose(runtime.sessions.quick_questions, editor, session_id)

    async def draft_memory(self, lines: tuple[str, ...]) -> PermissionRequest:
        return (await self.runtime.guidance.instruction_editor.draft(*lines)).request

    async def write_memory(
        self,
        request: PermissionRequest,
        reply: PermissionReply,
        origins: Mapping[str, MemoryOrigin],
    ) -> str:
        from agent.session.memory import write_lines  # as above

        editor = self.runtime.guidance.instruction_editor
        draft = await editor.draft(*origins)
        if draft.request.blocks != request.blocks:
            raise ToolError(CHANGED)
        return await write_lines(self.runtime.store, editor, draft, reply, origins)

    async def rules(self, session_id: str | None, agent: str) -> RulesState:
        runtime, root_id, child = self.runtime, None, False
        if session_id is not None:
            lineage = await lineage_of(runtime.store, await runtime.store.session(session_id))
            root_id, child = lineage.root_id, bool(lineage.callers)
        always = await runtime.permissions.current_rules(root_id)
        return RulesState(
            (*runtime.agents.rules(agent, child=child), *always),
            runtime.trust.trusted,
            runtime.config.config.permission_mode == "deny-wins",
        )

    async def revoke_rule(self, session_id: str, permission: str, pattern: str) -> None:
        root_id = await self._root(session_id) or session_id
        await self.runtime.permissions.revoke(root_id, permission, pattern)

    async def pin(self, session_id: str, message_id: str, *, pinned: bool) -> None:
        del session_id
        from agent.session.context.pins import set_pinned  # rarely needed

        await set_pinned(self.runtime.store, message_id, pinned=pinned)

    async def import_session(self, path: Path) -> Session:
        from agent.transfer.importer import import_file  # only for an import

        runtime = self.runtime
        where = {"directory": str(runtime.directory), "project": str(runtime.project)}
        return await import_file(runtime.store, path, **where)

    async def goal(
        self, session: Session | None, argument: str, new: NewSession, model: str
    ) -> str:
        return await goal_command(self.runtime, session, argument, new, model)

    async def loop(self, session: Session | None, argument: str, new: NewSession) -> str:
        return await loop_command(self.runtime, session, argument, new)

    def aside(self, session_id: str, question: str) -> AsyncGenerator[str, None]:
        return self.runtime.sessions.quick_questions.ask(session_id, question)

    async def servers(self) -> tuple[ServerStatus, ...]:
        return self.runtime.mcp.statuses()

    async def change_server(self, name: str, change: McpChange) -> None:
        service = self.runtime.mcp
        match change:
            case "connect":
                await service.connect(name)
            case "disconnect":
                await service.disconnect(name)
            case "reconnect":
                await service.reconnect(name)
            case "accept":
                service.accept(name)

    async def code(self) -> CodeState:
        code = self.runtime.code
        return CodeState(
            tuple(code.servers.statuses),
            tuple(code.servers.specs),
            tuple(code.file_checks.formatters),
        )

    async def restart_code(self) -> None:
        await self.runtime.code.servers.restart()

    async def shells(self) -> tuple[ShellInfo, ...]:
        return self.runtime.shells.snapshot()

    async def kill_shell(self, shell_id: str) -> None:
        await self.runtime.shells.kill(shell_id)

    async def detach(self, session_id: str) -> Detached:
        subagents = self.runtime.sessions.subagents.detach(session_id)
        commands = 0 if subagents else self.runtime.shells.detach(session_id)
        return Detached(subagents, commands)

    async def _root(self, session_id: str | None) -> str | None:
        if session_id is None:
            return None
        store = self.runtime.store
        return (await lineage_of(store, await store.session(session_id))).root_id


def controls_of(runtime: Runtime) -> FolderControls:
    """Return the controls of the folder of *runtime*: this process's, or its server's."""
    return runtime.server_controls or LocalControls(runtime)
