"""Actions on changes: review them, comment on them, keep or revert parts of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent.records.errors import NothingToDo
from agent.records.messages import MessageWithParts, UserMessage
from app.action_registry.context import ActionContext
from app.action_registry.registry import action
from app.actions.custom_commands import send_command
from app.session_state.named_changes import named_changes

if TYPE_CHECKING:  # loads the agent
    from agent.records.review_comment import ReviewComment
    from agent.session.review.changes import ReviewedChanges
    from app.screens.review.changes import ReviewState, SentComment


@action(
    "session.changes",
    "Review changes",
    "Session",
    slash=("review", "diff"),
    keys=("<leader>d",),
    argument="[turn, session, branch NAME, or pr NUMBER]",
    gives_way=True,
)
async def review(context: ActionContext, argument: str) -> None:
    """Show the changes of the working tree, the last turn, the session, a branch or a pull request,
    to comment on lines and to revert parts. Any other argument has a sub-agent review it."""
    live = context.live
    changes = await named_changes(live.runtime, live.session, argument)
    if changes is None:
        await send_command(context, "review", argument)
    elif changes.files:
        await review_changes(context, changes)
    else:
        raise NothingToDo(f"There are no changes to review in {changes.title}.")


async def review_changes(context: ActionContext, changes: "ReviewedChanges") -> None:
    """Show the review, and send the comments that were made in it."""
    root = context.live.runtime.project
    state = await show_review(context, changes, root)
    if state is not None and state.comments and not state.send:
        context.notify("Your comments are kept: /review opens them again.")


async def show_review(
    context: ActionContext, changes: "ReviewedChanges", root: Path, confirm: str = ""
) -> "ReviewState | None":
    """Show the review of *changes* below *root*, and send the comments if the user does. *confirm*
    is what enter does without comments. Comments that are not sent are stored."""
    from agent.session.review.comments import comments_message  # only for a review
    from app.screens.review.changes import REVERT, ChangesScreen, ReviewState

    runtime = context.live.runtime
    store, scope, title = runtime.store, changes.session_id or str(root), changes.title

    def keep(comments: "tuple[ReviewComment, ...]") -> None:
        context.tasks.spawn(store.save_review_draft(scope, title, comments), "keeping comments")

    screen = ChangesScreen(
        f"Review of {title}",
        changes.files,
        tasks=context.tasks,
        notes=changes.notes,
        write=runtime.sessions.undo.hunk_writer(root).write,
        labels=REVERT,
        state=ReviewState(await store.review_draft(scope, title)),
        sent=await _sent_comments(context),
        keep=keep,
        confirm=confirm,
    )
    state = await context.show(screen)
    if state is not None and state.send and state.comments:
        where = "" if root == runtime.project else f" in {root}"
        await context.send(comments_message(f"{title}{where}", state.comments), "steer")
        await store.save_review_draft(scope, title, ())
    return state


async def _sent_comments(context: ActionContext) -> "tuple[SentComment, ...]":
    """Return the comments of earlier reviews in this session, with the agent's replies."""
    from agent.session.review.comments import comments_in, replies_in  # only for a review
    from agent.session.review.timeline import user_text
    from agent.session.subagents.subagents import last_response
    from app.screens.review.changes import SentComment

    session = context.live.session
    if session is None:
        return ()
    found: list[SentComment] = []
    messages = await context.live.runtime.store.messages(session.id)
    for index, item in enumerate(messages):
        if not isinstance(item.message, UserMessage):
            continue
        comments = comments_in(user_text(item))
        if comments:
            replies = replies_in(
                last_response(_turn_messages(messages[index + 1 :])), len(comments)
            )
            found += [
                SentComment(each, replies.get(number, ""))
                for number, each in enumerate(comments, 1)
            ]
    return tuple(found)


def _turn_messages(following: Sequence[MessageWithParts]) -> Sequence[MessageWithParts]:
    """Return the messages of *following* up to the user's next one."""
    ends = (
        index
        for index, item in enumerate(following)
        if isinstance(item.message, UserMessage) and not item.message.synthetic
    )
    return following[: next(ends, len(following))]
