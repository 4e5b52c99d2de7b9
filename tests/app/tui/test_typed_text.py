"""Typed text answers no dialog: a single deliberate key does."""

import random
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from textual import events
from textual.screen import Screen

from agent.records.blocks import ShellBlock
from agent.records.requests import PermissionReply, Question, QuestionOption, QuestionReply
from app.screens.base.small_dialogs import ConfirmScreen
from app.screens.requests.permission import PermissionScreen
from app.screens.requests.question import QuestionScreen
from app.screens.requests.trust import TrustScreen
from app.tui.type_ahead import ENTER_TYPED, FIRST_GAP, SHORTEST_HOLD, TEXT_PAUSE, TypingRhythm
from tests.app.conftest import Running, Starter
from tests.app.screens.requests.examples import EXAMPLE, request
from tests.app.screens.requests.sample_diffs import three_changes

GRACE = 0.4
PLAN = Question(
    "que_1",
    "ses_1",
    "ses_1",
    "Plan",
    "Carry out the plan?",
    (QuestionOption("Carry it out"), QuestionOption("Keep planning")),
)
DIALOGS: dict[str, Callable[[], Screen[Any]]] = {
    "command": partial(PermissionScreen, request(blocks=(ShellBlock("git push"),)), grace=GRACE),
    "trust": partial(TrustScreen, EXAMPLE, grace=GRACE),
    "plan": partial(QuestionScreen, PLAN, grace=GRACE),
}
TEXTS = (
    "/connect",
    "ok go⏎",
    "ok⏎",
    "okay, do that⏎",
    "also run the tests⏎",
    "yes⏎",
    "no wait⏎",
    "y⏎",
    "o⏎",
    "a typo in the second line⏎",
    "write it to another file⏎",
    "can you do it once more⏎",
    "export it as csv⏎",
)

# Gaps between the keys of typed sentences relative to their average: fast pairs of two hands,
# slower ones of one finger, and a pause before some words.
RHYTHM = (0.7, 1.1, 0.6, 1.3, 0.9, 0.5, 1.4, 0.8, 1.6, 0.7, 1.0, 1.2, 0.6, 1.8, 0.9, 1.1)

Typed = list[tuple[str, float]]


def typing(text: str, words_per_minute: int, start: int = 0) -> Typed:
    """Return the keys of *text*, each with the seconds that passed before it."""
    average = 60 / (5 * words_per_minute)
    gaps = [average * RHYTHM[(start + at) % len(RHYTHM)] for at in range(len(text))]
    return list(zip(text, gaps, strict=True))


@dataclass
class Timers:
    """Timers that fire when ``advance`` reaches their time."""

    now: float = field(default_factory=lambda: time.monotonic() + 1800.0)
    _due: list[tuple[float, Callable[[], None]]] = field(default_factory=list)

    def later(self, seconds: float, action: Callable[[], None]) -> Callable[[], None]:
        timer = (self.now + seconds, action)
        self._due.append(timer)
        return lambda: self._due.remove(timer) if timer in self._due else None

    def advance(self, seconds: float) -> None:
        self.now += seconds
        for timer in sorted(self._due, key=lambda timer: timer[0]):
            if timer[0] <= self.now and timer in self._due:
                self._due.remove(timer)
                timer[1]()


@dataclass
class Keyboard:
    running: Running
    timers: Timers
    outcomes: list[object] = field(default_factory=list)

    async def open(self, screen: Screen[Any]) -> Screen[Any]:
        self.running.app.push_screen(screen, self.outcomes.append)
        await self.running.until(lambda: self.running.app.screen is screen and screen.is_mounted)
        return screen

    async def wait(self, seconds: float) -> None:
        self.timers.advance(seconds)
        await self.running.pilot.pause()

    async def send(self, event: events.Key | events.Paste) -> None:
        event.time = self.timers.now
        self.running.app.post_message(event)
        await self.running.pilot.pause()

    async def press(self, key: str, after: float = 5.0) -> None:
        await self.wait(after)
        names = {"⏎": ("enter", "\r"), " ": ("space", " "), "/": ("slash", "/")}
        name, character = names.get(key, (key, key if len(key) == 1 else None))
        await self.send(events.Key(name, character))

    async def replay(self, typed: Iterable[tuple[str, float]]) -> None:
        for key, gap in typed:
            await self.press(key, gap)

    async def learn(self, words_per_minute: int) -> None:
        """Type a prompt and clear it, as users do before a dialog can open."""
        await self.replay(typing("push the branch please", words_per_minute))
        await self.press("ctrl+u")
        assert self.running.prompt == ""

    def granted(self) -> list[object]:
        return [one for one in self.outcomes if one == "trust" or _grants(one)]


def _grants(outcome: object) -> bool:
    if isinstance(outcome, QuestionReply):
        return bool(outcome.labels)
    return isinstance(outcome, PermissionReply) and outcome.answer != "reject"


@pytest.fixture
async def keyboard(start: Starter) -> AsyncIterator[Keyboard]:
    timers = Timers()
    async with start(grace=GRACE, later=timers.later) as running:
        yield Keyboard(running, timers)


@pytest.mark.parametrize("speed", [40, 60, 90, 120])
@pytest.mark.parametrize("name", DIALOGS)
async def test_typed_text_approves_nothing(keyboard: Keyboard, name: str, speed: int) -> None:
    await keyboard.learn(speed)
    for at, text in enumerate(TEXTS):
        screen = await keyboard.open(DIALOGS[name]())
        first, *rest = typing(text, speed, start=at)
        await keyboard.replay([(first[0], 5.0), *rest])
        await keyboard.wait(5.0)
        assert keyboard.granted() == [], text
        if keyboard.running.app.screen is screen:
            screen.dismiss(None)
            await keyboard.running.until(lambda s=screen: keyboard.running.app.screen is not s)


async def test_typed_text_goes_to_the_prompt(keyboard: Keyboard) -> None:
    await keyboard.learn(60)
    await keyboard.open(DIALOGS["command"]())
    await keyboard.replay([("/", 5.0), *typing("connect⏎ok go", 60)])
    assert keyboard.running.prompt == "/connect\nok go"
    assert keyboard.outcomes == []


@pytest.mark.parametrize(
    ("name", "keys", "outcome"),
    [
        ("command", "o", PermissionReply("once")),
        ("command", "a", PermissionReply("always")),
        ("command", "r", PermissionReply("reject")),
        ("trust", "y", "trust"),
        ("trust", "n", "refuse"),
        ("confirm", "y", True),
        ("confirm", "n", False),
    ],
)
async def test_a_single_key_answers(
    keyboard: Keyboard, name: str, keys: str, outcome: object
) -> None:
    await keyboard.learn(90)  # a fast typist's answer is held for a short time only
    confirm = partial(ConfirmScreen, "Delete it?")
    await keyboard.open({**DIALOGS, "confirm": confirm}[name]())
    await keyboard.press(keys)
    assert keyboard.outcomes == []
    await keyboard.wait(TEXT_PAUSE)
    assert keyboard.outcomes == [outcome]
    assert keyboard.running.prompt == ""


async def test_a_single_key_of_a_fast_typist_answers_soon(keyboard: Keyboard) -> None:
    await keyboard.replay(typing("push the branch, please, and then tell me" * 2, 200))
    await keyboard.press("ctrl+u")
    await keyboard.open(DIALOGS["command"]())
    await keyboard.press("o")
    await keyboard.wait(SHORTEST_HOLD + 0.01)
    assert keyboard.granted() == [PermissionReply("once")]


async def test_a_held_answer_is_shown_as_selected(keyboard: Keyboard) -> None:
    screen = await keyboard.open(DIALOGS["command"]())
    await keyboard.press("o")
    assert screen.query_one("#ask-once").has_class("-chosen")
    await keyboard.press("k", 0.1)
    assert not screen.query_one("#ask-once").has_class("-chosen")
    await keyboard.press("a")
    await keyboard.press("backspace", 0.1)
    await keyboard.wait(5.0)
    assert keyboard.outcomes == []
    assert keyboard.running.prompt == "ok"


async def test_chosen_answers_are_given_at_once(keyboard: Keyboard) -> None:
    for keys in (["right", "enter"], ["tab", "enter"], ["o", "tab", "enter"]):
        await keyboard.open(DIALOGS["command"]())
        await keyboard.replay([(keys[0], 5.0), *((key, 0.05) for key in keys[1:])])
    assert keyboard.outcomes == [PermissionReply("once")] * 3
    await keyboard.open(DIALOGS["plan"]())
    await keyboard.replay([("down", 5.0), ("enter", 0.05)])
    assert keyboard.outcomes[3:] == [QuestionReply(("Keep planning",))]


async def test_enter_ends_typed_text_after_a_look_at_it(keyboard: Keyboard) -> None:
    await keyboard.replay(typing("carry on", 60))
    await keyboard.open(DIALOGS["plan"]())
    await keyboard.replay([("enter", 1.5), ("enter", 0.2)])
    assert keyboard.outcomes == []
    await keyboard.running.until_shown(ENTER_TYPED)
    await keyboard.press("enter")
    assert keyboard.granted() == [QuestionReply(("Carry it out",))]


async def test_a_key_that_is_kept_down_answers_once(keyboard: Keyboard) -> None:
    await keyboard.open(DIALOGS["command"]())
    await keyboard.press("o")
    await keyboard.wait(TEXT_PAUSE)
    assert len(keyboard.outcomes) == 1
    second = DIALOGS["command"]()
    await keyboard.open(second)
    await keyboard.replay([("o", 0.033)] * 150)
    await keyboard.wait(5.0)
    assert len(keyboard.outcomes) == 1
    assert keyboard.running.prompt == ""


async def test_a_key_that_is_pressed_again_and_again_answers(keyboard: Keyboard) -> None:
    await keyboard.open(DIALOGS["command"]())
    await keyboard.replay([("o", 0.2), *[("o", 0.5)] * 5])
    assert keyboard.outcomes == [PermissionReply("once")]


@pytest.mark.parametrize("name", ["command", "trust"])
@pytest.mark.parametrize("pasted", ["o", "y", "a\n", "y\nyes\n", "once\nok go\n"])
async def test_a_paste_answers_nothing(keyboard: Keyboard, name: str, pasted: str) -> None:
    screen = await keyboard.open(DIALOGS[name]())
    await keyboard.wait(5.0)
    await keyboard.send(events.Paste(pasted))
    await keyboard.wait(5.0)
    for key in pasted.replace("\n", "⏎"):  # a terminal that does not mark a paste
        await keyboard.press(key, 0.0 if len(pasted) > 1 else 0.1)
    if len(pasted) > 1:
        await keyboard.wait(5.0)
    assert keyboard.running.app.screen is screen
    assert keyboard.outcomes == []


async def test_changes_are_still_chosen_by_quick_keys(keyboard: Keyboard) -> None:
    diff = three_changes()
    await keyboard.open(PermissionScreen(request(blocks=(diff,), always=()), grace=GRACE))
    await keyboard.replay([("n", 5.0), (" ", 0.1), ("n", 0.1), (" ", 0.1), ("o", 1.0)])
    await keyboard.wait(TEXT_PAUSE)
    assert keyboard.granted() == [PermissionReply("once", hunks=frozenset({0}))]
    await keyboard.open(PermissionScreen(request(blocks=(diff,), always=()), grace=GRACE))
    await keyboard.replay([("n", 5.0), *typing("o⏎", 60)])
    await keyboard.wait(5.0)
    assert len(keyboard.granted()) == 1


def test_the_hold_follows_the_speed_of_the_user() -> None:
    rhythm = TypingRhythm()
    assert rhythm.hold == pytest.approx(FIRST_GAP * 2.5) == pytest.approx(TEXT_PAUSE)
    for at, key in enumerate("some quick words that are typed"):
        rhythm.add(key, at / 20)
    assert rhythm.hold == SHORTEST_HOLD
    for at in range(100, 130):
        rhythm.add("o", at / 30)  # kept down
        rhythm.add("", at / 30)
    assert rhythm.hold == SHORTEST_HOLD


def test_random_rhythms_never_leave_a_letter_alone() -> None:
    """The next key of a text comes before the hold of the one before it ends."""
    chance = random.Random(7)
    for speed in (40, 60, 80, 120):
        rhythm, now = TypingRhythm(), 0.0
        average, late = 60 / (5 * speed), 0
        for at in range(2000):
            gap = min(TEXT_PAUSE - 0.01, average * chance.lognormvariate(-0.06, 0.35))
            late += at > 20 and gap >= rhythm.hold
            now += gap
            rhythm.add(str(at), now)
        assert late < 20, speed
