"""Actions on worktrees: reviewing, merging and removing them."""

from pathlib import Path
from typing import TYPE_CHECKING

from agent.records.errors import NothingToDo
from app.action_registry.context import BUSY, ActionContext
from app.action_registry.registry import action
from app.actions.review import show_review
from app.screens.base.picker import Picker, Row
from app.screens.base.small_dialogs import ConfirmScreen
from app.text.sanitize import sanitize_line

if TYPE_CHECKING:  # loads the agent package
    from agent.runtime.worktrees import Worktree

MERGE_ROWS = (
    Row("merge", "Merge", "a merge commit, or fast-forward"),
    Row("squash", "Squash", "one change, staged and not committed"),
    Row("patch", "Patch", "only the files, nothing staged"),
)
WORKING = "A session works in the worktree {name}. Try again when it is done."
KEPT_OPEN = "Nothing was merged. /merge continues."


@action(
    "session.merge",
    "Merge the worktree",
    "Session",
    slash=("merge",),
    argument="[name] [merge | squash | patch | remove]",
)
async def merge(context: ActionContext, argument: str) -> None:
    """Review the work of a worktree, the open one if none is named, and bring it back to the folder
    that it was made from."""
    from agent.runtime.merging import REMOVE, parse_merge  # loads the agent package

    name, how = parse_merge(argument)
    worktree = await _find(context, name)
    if worktree is None:
        return
    _refuse_busy(context, worktree)
    await _go_there(context, worktree)
    if how == REMOVE or await _review_and_merge(context, worktree, how):
        context.notify(sanitize_line(await _remove(context, worktree)))


async def _find(context: ActionContext, name: str) -> "Worktree | None":
    """Return the worktree *name*; without a name that of the open session, else the one that the
    user picks."""
    from agent.runtime.merging import NO_WORKTREE, find_named, worktrees_of  # as above

    runtime = context.live.runtime
    found = find_named(runtime, context.live.session, name)
    if found is not None:
        return found
    every = worktrees_of(runtime)
    if not every:
        raise NothingToDo(NO_WORKTREE)
    rows = [Row(one.name, one.name, one.branch) for one in every.values()]
    chosen = await context.show(Picker("Merge which worktree?", rows, approves=True))
    return every[chosen] if chosen is not None else None


async def _go_there(context: ActionContext, worktree: "Worktree") -> None:
    """Open the last session that works in *worktree*, which reads the comments. A sub-agent's
    worktree has none: then the open session does."""
    from agent.runtime.merging import folder_in  # as above

    live = context.live
    if live.runtime.project == Path(worktree.folder):
        return
    found = await live.runtime.store.sessions(directory=folder_in(live.runtime, worktree), limit=1)
    if found:
        await live.open(found[0].id)


def _refuse_busy(context: ActionContext, worktree: "Worktree") -> None:
    """Raise ``NothingToDo`` while a session works in *worktree*."""
    if context.live_sessions.works_in(worktree.folder):
        raise NothingToDo(WORKING.format(name=worktree.name))
    if context.live.runtime.project == Path(worktree.folder) and context.live.runtime.sessions.busy:
        raise NothingToDo(BUSY)


async def _review_and_merge(context: ActionContext, worktree: "Worktree", how: str) -> bool:
    """Show what *worktree* changed and merge it once the user confirms; return whether to remove it
    then."""
    from agent.runtime.merging import merge_changes, merge_work  # as above

    changes, root = await merge_changes(worktree), Path(worktree.folder)
    if changes.files or changes.notes:
        state = None
        if changes.files:
            state = await show_review(context, changes, root, "merge")
            if state is None or not state.send or state.comments:
                context.notify(KEPT_OPEN)
                return False
        picker = Picker(f"Merge {worktree.branch}", MERGE_ROWS, approves=True)
        how = how or await context.show(picker) or ""
        if not how:
            return False
        _refuse_busy(context, worktree)
    done = await merge_work(worktree, how or "merge", context.live.session)
    context.notify(sanitize_line(done))
    question = ConfirmScreen(
        f"{done} Remove the worktree {worktree.name}?",
        "Its sessions continue in the folder that it was created from.",
    )
    return bool(await context.show(question))


async def _remove(context: ActionContext, worktree: "Worktree") -> str:
    """Remove *worktree*; return what was done. Its sessions continue where it was made from."""
    from agent.runtime.merging import remove_worktree  # as above

    if context.live.runtime.project == Path(worktree.folder):
        return await context.leave_worktree("remove")
    return await remove_worktree(context.live.runtime, worktree)
