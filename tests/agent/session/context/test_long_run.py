"""A long session in a small window: real tool output, several summaries.

The scripted model counts each request by a rule of its own, a fifth above the program's estimate,
refuses requests that exceed its 32k window, and reports its count. LONG_RUN_STEPS is the number of
steps; ``pytest -s`` shows the figures.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from agent.records.messages import AssistantMessage, CompactionPart, Completed, TextPart
from agent.session.context.budget import estimate_tokens
from agent.session.context.pins import pinnable_messages, set_pinned
from tests.support.harness import Harness, open_harness
from tests.support.script import Answer, Call, Failure, Text, Tokens, answer

STEPS = int(os.environ.get("LONG_RUN_STEPS", "300"))
TURNS = 6
WINDOW = 32_000
OUTPUT = 4_000
FIRST = "Build the shop as it stands in plan.txt, and never touch the file ledger.txt."
PIN = "The colour of every door is ultramarine."
OVERFLOW = Failure(
    400,
    '{"error": {"message": "This model\'s maximum context length is 32000 tokens.", '
    '"code": "context_length_exceeded"}}',
)
SUMMARY = "## Goal\nBuild the shop.\n\n## Discoveries\n" + "- a file was read\n" * 60


@dataclass
class Model:
    """A model that takes *steps* steps, spread over the turns; each calls a tool or two."""

    files: list[str]
    per_turn: int
    rng: random.Random
    left: int = 0
    refused: list[str] = field(default_factory=list)
    largest: int = 0
    steps: int = 0
    summaries: int = 0
    pinned_at: int = 0

    def __call__(self, body: dict) -> Answer:
        size = round(1.2 * estimate_tokens(json.dumps(body, ensure_ascii=False)))
        if size + body["max_tokens"] > WINDOW:
            self.refused.append(json.dumps(body))
            return OVERFLOW
        self.largest = max(self.largest, size)
        if "tools" not in body:
            self.summaries += 1
            return answer(Text(SUMMARY), Tokens(size, 400))
        self.steps += 1
        self.left -= 1
        if self.left <= 0:
            self.left = self.per_turn
            return answer(Text("That is done for now."), Tokens(size, 20))
        return answer(*self._calls(), Tokens(size, 120))

    def _calls(self) -> list[Call]:
        rng = self.rng
        name = rng.choice(self.files)
        words: list[Callable[[], Call]] = [
            lambda: Call("read", {"file_path": name, "offset": rng.randint(1, 200), "limit": 60}),
            lambda: Call("grep", {"pattern": f"^word{rng.randint(1, 400)} "}),
            lambda: Call("list", {"path": "."}),
            lambda: Call("bash", {"command": f"seq 1 {rng.randint(10, 900)}"}),
            lambda: Call(
                "write", {"file_path": f"new{rng.randint(1, 10**6)}.txt", "content": name}
            ),
        ]
        weights = (8, 3, 1, 1, 1)
        return [make() for make in rng.choices(words, weights, k=rng.choice((1, 1, 2)))]


def project(folder: Path, rng: random.Random) -> list[str]:
    names = [f"part{number}.txt" for number in range(12)]
    for name in names:
        lines = (" ".join(f"word{rng.randint(1, 400)}" for _ in range(9)) for _ in range(400))
        (folder / name).write_text("\n".join(lines), "utf-8")
    return names


async def test_a_long_session_in_a_small_window(tmp_path: Path) -> None:
    rng = random.Random(20_260)
    more = {
        "abilities": {"limit": {"context": WINDOW, "output": OUTPUT}},
        "permission": {"*": "allow"},
        "limits": {"steps": 10_000},
    }
    async with open_harness(tmp_path, **more) as harness:
        per_turn = STEPS // TURNS
        model = Model(project(harness.folder, rng), per_turn, rng, left=per_turn)
        harness.server.always(model)
        session = await harness.session()
        began = time.process_time()
        for number in range(TURNS):
            text = FIRST if number == 0 else f"{PIN} Go on with part {number}."
            assert (await harness.turn(session, text)).outcome == "completed"
            if number == 1:
                mine = pinnable_messages(await harness.messages(session))
                chosen = next(p for p in mine if p.text.startswith(PIN))
                await set_pinned(harness.runtime.store, chosen.message_id, pinned=True)
                model.pinned_at = model.summaries
        spent = time.process_time() - began
        await _holds(harness, session, model)
        _tell(model, spent)


async def _holds(harness: Harness, session, model: Model) -> None:
    assert model.steps >= STEPS
    assert len(set(model.refused)) == len(model.refused), "nothing over-long is sent twice"
    assert len(model.refused) <= 1 + STEPS // 100
    assert 2 <= model.summaries <= STEPS // 10
    summaries = 0
    for request in harness.server.requests:
        if "tools" not in request.body:
            summaries += 1
            continue
        sent = json.dumps(request.body["messages"], ensure_ascii=False)
        assert FIRST in sent, f"the first request is gone after {summaries} summaries"
        if summaries > model.pinned_at:
            assert f"{PIN} Go on with part 1." in sent, f"gone after {summaries} summaries"
    messages = await harness.messages(session)
    first = next(p for p in messages[0].parts if isinstance(p, TextPart))
    assert first.text == FIRST
    answers = [m.message for m in messages if isinstance(m.message, AssistantMessage)]
    assert len(answers) == model.steps, "no step is deleted"
    markers = [p for m in messages for p in m.parts if isinstance(p, CompactionPart)]
    assert len(markers) == model.summaries
    outputs = [t.state for t in await harness.tools(session)]
    assert all(isinstance(state, Completed) and state.output for state in outputs)


def _tell(model: Model, spent: float) -> None:
    sys.stdout.write(
        f"{model.steps} steps, {model.summaries} summaries, {len(model.refused)} refused, "
        f"largest request {model.largest:,} of {WINDOW:,} tokens, "
        f"{spent:.1f} s of CPU, {1000 * spent / model.steps:.1f} ms a step\n"
    )
