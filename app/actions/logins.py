"""Logins in a browser, with a screen that shows how and that cancels when it is closed."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from textual.screen import Screen

from app.action_registry.context import ActionContext
from app.terminal.tasks import is_open

ResultT = TypeVar("ResultT")


async def with_login_screen(
    context: ActionContext, log_in: Callable[[Callable[[Screen[None]], None]], Awaitable[ResultT]]
) -> ResultT | None:
    """Return the result of *log_in*, which shows its screen with the function that it gets; None
    if the user closes that screen. Raises what *log_in* raises."""
    shown: list[Screen[None]] = []

    def show(screen: Screen[None]) -> None:
        shown.append(screen)
        context.tasks.spawn(until_closed(screen), "logging in")

    async def until_closed(screen: Screen[None]) -> None:
        await context.show(screen)
        login.cancel()

    login = asyncio.ensure_future(log_in(show))
    try:
        (outcome,) = await asyncio.gather(login, return_exceptions=True)
    finally:
        for screen in shown:
            if is_open(screen):
                screen.dismiss(None)
    if isinstance(outcome, asyncio.CancelledError):
        return None
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome
