"""Random work over the whole service: whatever happens, it settles in a valid state.

Two instances of the program share one database and a model whose responses break, hang and ask for
permission. Each settling checks the invariants. CHAOS_EXAMPLES sequences are tried: a few by
default, the same ones each time.
"""

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.chaos.acting import WORK, Model
from tests.chaos.instance import Instance, Refused
from tests.support.harness import config_for, write_config

EXAMPLES = int(os.environ.get("CHAOS_EXAMPLES", "4"))
STEPS = 14 if EXAMPLES < 10 else 30
PRICE = {"cost": {"input": 1.0, "output": 10.0, "cache_read": 0.1}}
ANY = st.integers(0, 5)
"""An index into what exists, taken modulo its count."""

PLANNED = st.lists(st.sampled_from(WORK), min_size=1, max_size=4)
Tree = dict[str, bytes]


@dataclass
class Known:
    """The expected state of a session. *sent* are the numbers of its prompts; *before* the contents
    of its folder before each prompt that was alone in changing it; *undone* the undone prompts,
    newest last, with the folder's contents then; *ended* its finished messages."""

    id: str
    place: Path
    sent: dict[int, str] = field(default_factory=dict)
    before: dict[int, Tree] = field(default_factory=dict)
    undone: list[tuple[int | None, Tree]] = field(default_factory=list)
    ended: dict[str, Any] = field(default_factory=dict)
    spent: float = 0.0


class Chaos(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="chaos-"))
        self.folder, self.home = self.root / "project", self.root / "home"
        self.folder.mkdir()
        self.home.mkdir()
        self.model = Model(self.folder)
        self.instances: list[Instance] = []
        self.sessions: list[Known] = []
        self.number = 0
        self.places = 0
        self.killed = False
        self.settled = 0
        """The newest prompt when everything was last at rest."""

    def teardown(self) -> None:
        try:
            if self.sessions:
                self.settle("once")
            for instance in self.instances:
                instance.close()
                assert instance.running == []
        finally:
            for instance in self.instances:
                instance.kill()
            self.model.close()
            shutil.rmtree(self.root, ignore_errors=True)

    @initialize(
        api=st.sampled_from(["openai-chat", "anthropic-messages"]),
        works=st.lists(PLANNED, min_size=2, max_size=3),
    )
    def begin(self, api: str, works: list[list[str]]) -> None:
        """Two sessions at work: sequences that begin with nothing find little."""
        write_config(
            self.home,
            config_for(
                self.model.server,
                api=api,
                abilities=PRICE,
                retry={"attempts": 2, "delay": 4},
                permission={"edit": "allow", "bash": "ask"},
            ),
        )
        self.instances.append(Instance(self.folder, self.home))
        self.new(0)
        self.new(0)
        for which, work in enumerate(works):
            self.prompt(0, which, work, "steer")

    def pick(self, which: int) -> Known:
        return self.sessions[which % len(self.sessions)]

    def at(self, which: int) -> Instance:
        return self.instances[which % len(self.instances)]

    def taken(self, who: int, name: str, known: Known, but: set[str], **given: object) -> bool:
        """Return whether a command for a session was accepted; it can be refused for the errors in
        *but*."""
        try:
            self.at(who).do(name, session=known.id, **given)
        except Refused as why:
            if str(why) not in but:
                raise
            return False
        return True

    def fresh(self, session_id: str) -> Known:
        self.places += 1
        known = Known(session_id, self.folder / f"s{self.places}")
        self.sessions.append(known)
        return known

    @rule(who=ANY)
    def new(self, who: int) -> None:
        if len(self.sessions) < 4:
            self.fresh(self.at(who).do("new"))

    @rule(
        who=ANY,
        which=ANY,
        work=PLANNED,
        delivery=st.sampled_from(["steer", "steer", "follow_up"]),
    )
    def prompt(self, who: int, which: int, work: list[str], delivery: str) -> None:
        known = self.pick(which)
        alone = not any(i.do("busy") for i in self.instances)
        state = self.at(who).do("state", session=known.id)
        waiting, gone = state["queued"], state["session"]["undone_at"]
        self.number += 1
        words = "".join(f" {word}" for word in work)
        text = f"#{self.number} in {known.place.name} do:{words}."
        before = tree(known.place) if alone else {}
        given = {"text": text, "delivery": delivery}
        if not self.taken(who, "prompt", known, {"SessionBusy"}, **given):
            return
        # The undone prompts can no longer be redone.
        known.undone.clear()
        if gone is not None:
            for number in prompts(state, after=gone):
                known.sent.pop(number, None)
            known.ended = {id_: m for id_, m in known.ended.items() if id_ < gone}
        known.sent[self.number] = delivery
        if not alone:
            # Commands of concurrent turns count each other's changes.
            for each in self.sessions:
                for number in [n for n in each.before if n > self.settled]:
                    del each.before[number]
        if alone and not waiting:
            known.before[self.number] = before

    @rule(who=ANY, which=ANY)
    def cancel(self, who: int, which: int) -> None:
        self.at(who).do("cancel", session=self.pick(which).id)

    @rule(who=ANY, word=st.sampled_from(["once", "once", "always", "reject"]))
    def reply(self, who: int, word: str) -> None:
        self.at(who).do("reply", word=word)

    @rule()
    def release(self) -> None:
        self.model.release()

    @precondition(lambda self: len(self.sessions) < 4)
    @rule(who=ANY, which=ANY)
    def fork(self, who: int, which: int) -> None:
        source = self.pick(which)
        copy = self.fresh(self.at(who).do("fork", session=source.id))
        # Undo in the fork changes the source's files: their contents are no longer known.
        source.before.clear()
        state = self.at(who).do("state", session=copy.id)
        copy.sent = dict.fromkeys(prompts(state), "copied")
        copy.spent = spent(state)
        copy.undone = [(None, {}) for _ in source.undone]

    @rule(who=ANY, which=ANY)
    def compact(self, who: int, which: int) -> None:
        self.taken(who, "compact", self.pick(which), {"SessionBusy", "NothingToDo"})

    @precondition(lambda self: len(self.sessions) > 1)
    @rule(who=ANY, which=ANY)
    def delete(self, who: int, which: int) -> None:
        known = self.pick(which)
        if self.taken(who, "delete", known, {"SessionBusy"}):
            self.sessions.remove(known)

    @rule(who=ANY, which=ANY, word=st.sampled_from(["once", "reject"]))
    def undo(self, who: int, which: int, word: str) -> None:
        self.settle(word)
        known = self.pick(which)
        now = tree(known.place)
        result = self.at(who).do("undo", session=known.id)
        if result is None:
            return
        number = int(result["text"].partition(" ")[0][1:])
        assert number in known.sent
        if known.sent[number] == "copied":
            for other in self.sessions:
                other.before.clear()
                other.undone = [(n, {}) for n, _ in other.undone]
            now = {}
        known.undone.append((number, now))
        if number in known.before:
            assert result["left"] == [], result
            assert result["why"] == ""
            assert tree(known.place) == known.before[number]

    @rule(who=ANY, which=ANY)
    def redo(self, who: int, which: int) -> None:
        self.settle("once")
        known = self.pick(which)
        back = self.at(who).do("redo", session=known.id)
        assert (back is None) == (not known.undone)
        if back is None:
            return
        number, held = known.undone.pop()
        if held and number in known.before:
            assert back == []
            assert tree(known.place) == held

    @rule(who=ANY)
    def kill(self, who: int) -> None:
        """Kill an instance and start it again."""
        place = who % len(self.instances)
        self.instances[place].kill()
        self.killed = True
        for known in self.sessions:
            known.before.clear()
        self.instances[place] = Instance(self.folder, self.home)
        self.look()

    @precondition(lambda self: len(self.instances) < 2)
    @rule()
    def another(self) -> None:
        self.instances.append(Instance(self.folder, self.home))

    @rule(word=st.sampled_from(["once", "reject"]))
    def settle(self, word: str) -> None:
        """Let everything finish, then check it."""
        with self.model.flowing():
            for _ in range(2):  # work that ends in one instance can continue in the other
                for instance in self.instances:
                    turns = instance.do("settle", word=word)
                    assert len(turns) == len(set(turns)), "a turn was said to be over twice"
        self.settled = self.number
        for instance in self.instances:
            assert instance.running == [], "a tool's process was left"
        self.look(settled=True)

    @invariant()
    def valid(self) -> None:
        assert self.model.server.refused == []

    def look(self, *, settled: bool = False) -> None:
        """Everything finished is unchanged; no counter goes backward."""
        for known in self.sessions:
            for instance in self.instances:
                state: dict[str, Any] = instance.do("state", session=known.id)
                if settled:
                    at_rest(state)
                self.kept(known, state)

    def kept(self, known: Known, state: dict[str, Any]) -> None:
        gone = state["session"]["undone_at"]
        found = {m["id"]: m for m in state["messages"]}
        numbers = prompts(state)
        assert set(numbers) >= known.sent.keys(), "a prompt was lost"
        for delivery in ("steer", "follow_up"):
            order = [n for n in numbers if known.sent.get(n) == delivery]
            assert order == sorted(order), "prompts changed places"
        if not self.killed:
            assert len(numbers) == len(set(numbers)), "a prompt was taken twice"
        if gone is None and not known.undone:
            for id_, message in known.ended.items():
                if message["role"] == "assistant":
                    assert id_ in found, "what was finished is gone"
                    assert before_patch(found[id_], message) == message, "what was finished changed"
        known.ended = {m["id"]: m for m in state["messages"] if m.get("completed")}
        cost = spent(state)
        assert cost >= known.spent
        known.spent = cost


def before_patch(now: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    """A finished message without its patch part, which is added a moment later."""
    had = {part["id"] for part in then["parts"]}
    parts = [part for part in now["parts"] if part["type"] != "patch" or part["id"] in had]
    return {**now, "parts": parts}


def at_rest(state: dict[str, Any]) -> None:
    assert state["idle"]
    for message in state["messages"]:
        if message["role"] == "assistant":
            assert message["completed"] is not None
            for part in message["parts"]:
                if part["type"] == "tool":
                    assert part["state"]["status"] in {"completed", "failed"}, part
                elif part["type"] in {"text", "reasoning"}:
                    assert part["ended"] is not None


def waits(message: dict[str, Any]) -> bool:
    return message["role"] == "user" and message["turn_id"] is None


def prompts(state: dict[str, Any], *, after: str = "") -> list[int]:
    """The numbers of the prompts in a session, in order; with *after*, from that message on. A
    queued prompt has no position yet: one picked up before it can have a later id."""
    in_order = sorted(state["messages"], key=waits)
    return [
        int(part["text"].partition(" ")[0][1:])
        for message in in_order
        if message["role"] == "user" and not message["synthetic"] and message["id"] >= after
        for part in message["parts"]
        if part["type"] == "text" and part["text"].startswith("#")
    ]


def spent(state: dict[str, Any]) -> float:
    return (state["session"]["cost"] or 0.0) + (state["session"]["subagent_cost"] or 0.0)


def tree(place: Path) -> Tree:
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file()
    }


TestChaos = pytest.mark.timeout(0 if EXAMPLES >= 10 else 900)(Chaos.TestCase)
TestChaos.settings = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    derandomize=EXAMPLES < 10,
    database=None,
    print_blob=False,
    phases=[Phase.generate] if EXAMPLES < 10 else [Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)
