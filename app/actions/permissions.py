"""Actions on permissions: the rules, the permission mode, trust in the folder."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from agent.permission.rules import ALWAYS, Rule
from app.action_registry.context import BUSY, ActionContext
from app.action_registry.registry import action
from app.screens.base.picker import Picker, Row
from app.screens.base.small_dialogs import ConfirmScreen
from app.screens.permission_rules import PermissionsScreen, rule_rows
from app.screens.requests.trust import TrustScreen
from app.session_state.permission_mode import AUTO
from app.terminal.tasks import is_open
from app.text.sanitize import sanitize_line

if TYPE_CHECKING:  # imports the agent
    from agent.runtime.folder_controls import RulesState

ELSEWHERE = (
    "Only rules that you chose with “always” can be revoked here. This one comes from {source}."
)
AUTO_DETAIL = (
    "Commands, edits and web requests will run without asking until you choose another mode. Deny "
    "rules still apply."
)
MODES = {
    "ask": "asks before edits and commands that can change something",
    "accept edits": "edits files in this folder without asking",
    "plan": "reads and plans, edits nothing",
    "judge": "a small model approves calls for you, or you are asked",
    "auto": "runs everything except what deny rules forbid",
}
"""The description of each mode."""
SAVED_THERE = (
    "Rules for every folder are saved in the settings of the server: do this on its machine."
)
NOT_ALWAYS = "Only rules that you chose with “always” can be saved here."


@action("permissions.list", "Show permission rules", "Program", slash=("permissions", "rules"))
async def permissions(context: ActionContext, argument: str) -> None:
    """List the rules in force; undo or save those that the user answered "always" to."""
    live = context.live
    rules = _RuleList(context)
    await rules.read()
    wins = "; any deny wins" if rules.state.deny_wins else ""
    title = f"Permissions of {live.agent}, strongest first{wins}"

    def revoke(key: str) -> None:
        context.tasks.spawn(rules.revoke(screen, key), "taking back a permission")

    def save(key: str) -> None:
        context.tasks.spawn(rules.save(screen, key), "saving a permission")

    screen = PermissionsScreen(title, rules.rows(), revoke=revoke, save=save)
    await context.show(screen)


@action(
    "permissions.mode",
    "Choose the permission mode",
    "Model and agent",
    slash=("mode",),
    argument="[mode]",
)
async def mode(context: ActionContext, argument: str) -> None:
    """Switch to the given mode, or to one chosen from a list."""
    live = context.live
    names = context.modes.names([info.name for info in live.runtime.agents.primary()])
    wanted = argument.strip().lower()
    if wanted and wanted not in names:
        context.notify(f"The modes are {', '.join(names)}.", warning=True)
        return
    if not wanted:
        current = context.modes.current(live.agent, live.runtime.permissions.mode)
        rows = [Row(name, name, MODES[name]) for name in names]
        picker = Picker("Permission mode", rows, current=current, approves=True)
        wanted = await context.show(picker) or ""
    if wanted and (wanted != AUTO or await _confirms_auto(context)):
        await _switch(context, wanted)


@action("permissions.cycle", "Next permission mode", "Model and agent", keys=("shift+tab",))
async def cycle(context: ActionContext, argument: str) -> None:
    """Switch to the next mode; judge and auto are not among those."""
    await _switch(context, "")


async def _confirms_auto(context: ActionContext) -> bool:
    """Ask once whether the auto mode is meant; return the answer."""
    modes = context.modes
    if modes.auto_confirmed:
        return True
    question = ConfirmScreen("Run everything without asking?", AUTO_DETAIL)
    modes.auto_confirmed = bool(await context.show(question))
    return modes.auto_confirmed


async def _switch(context: ActionContext, wanted: str) -> None:
    """Switch to the mode *wanted*, or to the next one."""
    live = context.live
    agents = [info.name for info in live.runtime.agents.primary()]
    before = live.agent
    context.modes.auto_confirmed |= live.runtime.permissions.mode == AUTO  # of the command line
    step = context.modes.advance(before, live.runtime.permissions.mode, agents, wanted=wanted)
    live.runtime.permissions.mode = step.mode
    if step.agent != before:
        await live.use_agent(step.agent)
    context.refresh()


class _RuleList:
    """The rules that are shown, strongest first."""

    def __init__(self, context: ActionContext) -> None:
        self._context = context
        self._session = context.live.session
        self.state: RulesState

    async def read(self) -> None:
        open_id = self._session.id if self._session is not None else None
        self.state = await self._context.controls.rules(open_id, self._context.live.agent)

    def rows(self) -> list[Row]:
        return rule_rows(self.state.rules, trusted=self.state.trusted)

    async def revoke(self, screen: PermissionsScreen, key: str) -> None:
        rule = self.state.rules[int(key)]
        if rule.source != ALWAYS or self._session is None:
            source = {"default": "the built-in rules"}.get(rule.source, rule.source)
            self._context.notify(ELSEWHERE.format(source=sanitize_line(source)))
            return
        await self._context.controls.revoke_rule(self._session.id, rule.permission, rule.pattern)
        self._context.notify(f"{sanitize_line(rule.pattern)} will ask again.")
        await self._refresh(screen)

    async def save(self, screen: PermissionsScreen, key: str) -> None:
        rule, runtime = self.state.rules[int(key)], self._context.live.runtime
        if rule.source != ALWAYS or runtime.server:
            self._context.notify(SAVED_THERE if runtime.server else NOT_ALWAYS)
            return
        path = await asyncio.to_thread(_save, runtime.paths.config, rule)
        runtime.permissions.add_saved_rule(rule.permission, rule.pattern)
        self._context.notify(f"Saved to {sanitize_line(str(path))}. It applies in every folder.")
        await self._refresh(screen)

    async def _refresh(self, screen: PermissionsScreen) -> None:
        await self.read()
        if is_open(screen):
            screen.set_rows(self.rows())


def _save(folder: Path, rule: Rule) -> Path:
    from agent.permission.saved_rules import save_rule  # rarely needed

    return save_rule(folder, rule.permission, rule.pattern)


@action("folder.trust", "Review or change trust in this folder", "Program", slash=("trust",))
async def trust(context: ActionContext, argument: str) -> None:
    """Show whether the folder is trusted and ask again; the settings are read anew."""
    runtime = context.live.runtime
    if runtime.sessions.busy:
        context.notify(BUSY)
        return
    now = await runtime.trust.refreshed()
    screen = TrustScreen(now.question(), status=now.status, grace=0.0)
    answer = await context.show(screen)
    if answer is not None and answer != "later":
        now.save_answer(answer)
        await context.reopen()
        context.notify(
            "This folder is trusted."
            if answer == "trust"
            else "This folder is not trusted; its own settings and instructions are ignored."
        )
