"""The pipeline that every call goes through."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.permission.rules import DEFAULT_RULES, Rule
from agent.permission.service import PermissionService
from agent.process import SpillStore, kill_all
from agent.records.blocks import Block, ListingBlock, TextBlock, ToolLabel
from agent.records.decisions import Decision
from agent.records.errors import ToolError
from agent.records.json import JsonObject
from agent.records.requests import PermissionNeed, PermissionReply
from agent.tools.bash import BashTool
from agent.tools.core.tool import Result, ToolContext
from agent.tools.core.truncate import Limits, Truncator
from agent.tools.pipeline import (
    CallCompleted,
    CallFailed,
    CallOutcome,
    Pipeline,
    ResolvedCall,
)
from agent.tools.registry import AnyTool, Registry
from agent.tools.shell.settings import BashSettings
from agent.tools.shell.shells import Shells
from tests.agent.tools.conftest import MakeContext
from tests.agent.tools.probe import ProbeTool


class NoStoredRules:
    async def session_rules(self, root_id: str) -> tuple[tuple[str, str], ...]:
        return ()

    async def add_session_rule(self, root_id: str, permission: str, pattern: str) -> None:
        return None

    async def drop_session_rule(self, root_id: str, permission: str, pattern: str) -> None:
        return None


@dataclass
class RecordingObserver:
    """An observer that answers each question with the next of *replies*."""

    service: PermissionService
    replies: list[PermissionReply] = field(default_factory=list[PermissionReply])
    events: list[object] = field(default_factory=list[object])
    decisions: list[Decision] = field(default_factory=list[Decision])

    async def on_running(
        self, arguments: JsonObject, label: ToolLabel, blocks: tuple[Block, ...]
    ) -> None:
        self.events.append(("running", arguments, label.object, blocks))

    def on_request(self, request_id: str | None) -> None:
        self.events.append("waiting" if request_id else "answered")
        if request_id is not None and self.replies:
            reply = self.replies.pop(0)
            asyncio.get_running_loop().call_soon(self.service.reply, request_id, reply)

    def on_judging(self) -> None:
        pass

    def on_terminal(self, terminal: str) -> None:
        _ = terminal

    def on_decision(self, decision: Decision) -> None:
        self.decisions.append(decision)


@dataclass
class Harness:
    pipeline: Pipeline
    service: PermissionService
    context: ToolContext
    seen: RecordingObserver

    async def call(self, name: str, arguments: str = "") -> CallOutcome:
        resolved = self.pipeline.resolve(name, arguments)
        if isinstance(resolved, CallFailed):
            return resolved
        return await self.pipeline.run(resolved, self.context, self.seen)


Build = Callable[..., Harness]


@pytest.fixture
def build(tmp_path: Path, make_context: MakeContext) -> Build:
    def make(
        *tools: AnyTool, replies: tuple[PermissionReply, ...] = (), rules: tuple[Rule, ...] = ()
    ):
        service = PermissionService(
            Bus(), NoStoredRules(), lambda _, **__: (*DEFAULT_RULES, *rules)
        )
        truncator = Truncator(Limits(), SpillStore(tmp_path / "data" / "spill"))
        pipeline = Pipeline(Registry(tools), service, truncator)
        return Harness(pipeline, service, make_context(), RecordingObserver(service, list(replies)))

    return make


def completed(outcome: CallOutcome) -> CallCompleted:
    assert isinstance(outcome, CallCompleted), outcome
    return outcome


def failed(outcome: CallOutcome) -> CallFailed:
    assert isinstance(outcome, CallFailed), outcome
    return outcome


async def test_the_way_of_a_call(build: Build) -> None:
    tool = ProbeTool()
    harness = build(tool)
    done = completed(await harness.call("Probe", '{"command": "hello"}'))
    assert tool.log == ["prepare hello", "execute hello"]
    assert harness.seen.events == [
        ("running", {"command": "hello"}, "hello", (TextBlock("hello"),))
    ]
    assert done == CallCompleted(
        input={"command": "hello"},
        label=ToolLabel("Probe", "hello"),
        output="said hello",
        blocks=(TextBlock("hello"),),
    )


@pytest.mark.parametrize("arguments", ["", "null", " ", "{}"])
async def test_no_arguments(arguments: str, build: Build) -> None:
    assert completed(await build(ProbeTool()).call("probe", arguments)).input == {}


async def test_broken_arguments_run_nothing(build: Build) -> None:
    tool = ProbeTool()
    outcome = failed(await build(tool).call("probe", '{"command": "he said "hi""}'))
    assert outcome.kind == "invalid"
    assert 'said \\"hi' in outcome.error
    assert outcome.input is None
    assert tool.log == []


async def test_bad_arguments_teach(build: Build) -> None:
    outcome = failed(await build(ProbeTool()).call("probe", '{"command": [1]}'))
    assert outcome.kind == "invalid"
    assert outcome.error.startswith("Please rewrite the input with valid arguments.")
    assert outcome.input == {"command": [1]}


async def test_unknown_tool_names_the_known_ones(build: Build) -> None:
    outcome = failed(await build(ProbeTool()).call("prob\ud83d"))
    assert outcome.kind == "invalid"
    assert "probe" in outcome.error
    assert outcome.error.encode()


def test_resolve_returns_name_and_safety(build: Build) -> None:
    """The executor schedules by these."""
    pipeline = build(ProbeTool()).pipeline
    safe = pipeline.resolve("PROBE", '{"command": "safe"}')
    assert isinstance(safe, ResolvedCall)
    assert (safe.name, safe.safe, safe.polling) == ("probe", True, False)
    other = pipeline.resolve("probe", '{"command": "other"}')
    assert isinstance(other, ResolvedCall)
    assert not other.safe


async def test_an_allowed_call_asks_and_runs(build: Build) -> None:
    harness = build(
        ProbeTool(needs=True), replies=(PermissionReply("once", comment="but be quick"),)
    )
    done = completed(await harness.call("probe"))
    assert harness.seen.events[1:] == ["waiting", "answered"]
    assert done.output == "said go"
    assert done.reminders == ("The user allowed the probe call and said: but be quick",)


@pytest.mark.parametrize(("comment", "stops"), [("", True), ("use the other file", False)])
async def test_a_refusal(comment: str, stops: bool, build: Build) -> None:
    """A rejection without a comment stops the turn; a comment is sent to the model."""
    tool = ProbeTool(needs=True)
    harness = build(tool, replies=(PermissionReply("reject", comment=comment),))
    outcome = failed(await harness.call("probe"))
    assert outcome.kind == "denied"
    assert outcome.stop_turn is stops
    assert comment in outcome.error
    assert outcome.label == ToolLabel("Probe", "go")
    assert outcome.blocks == (TextBlock("go"),)
    assert tool.log == ["prepare go"]


async def test_a_deny_rule_asks_no_user(build: Build) -> None:
    tool = ProbeTool(needs=True)
    harness = build(tool, rules=(Rule("bash", "go", "deny", "config"),))
    outcome = failed(await harness.call("probe"))
    assert (outcome.kind, outcome.stop_turn) == ("denied", False)
    assert "waiting" not in harness.seen.events
    assert tool.log == ["prepare go"]


async def test_an_edited_command_is_judged_and_planned_again(build: Build) -> None:
    """The result names the command that really ran, which is the one shown last."""
    tool = ProbeTool(needs=True)
    harness = build(
        tool,
        replies=(PermissionReply("once", edited_command="stop"), PermissionReply("once")),
    )
    done = completed(await harness.call("probe"))
    assert tool.log == ["prepare go", "prepare stop", "execute stop"]
    assert done.input == {"command": "stop"}
    assert done.output == "said stop"
    assert done.reminders == ("The user edited the command. This ran instead: stop",)
    assert harness.seen.events[3] == ("running", {"command": "stop"}, "stop", (TextBlock("stop"),))


async def test_an_edit_does_not_get_round_a_deny(build: Build) -> None:
    tool = ProbeTool(needs=True)
    harness = build(
        tool,
        replies=(PermissionReply("once", edited_command="stop"),),
        rules=(Rule("bash", "stop", "deny", "config"),),
    )
    outcome = failed(await harness.call("probe"))
    assert outcome.kind == "denied"
    assert "execute stop" not in tool.log
    assert outcome.input == {"command": "stop"}


async def test_an_unchanged_edit_asks_once(build: Build) -> None:
    tool = ProbeTool(needs=True)
    harness = build(tool, replies=(PermissionReply("once", edited_command=" go "),))
    done = completed(await harness.call("probe", '{"command": "go"}'))
    assert done.output == "said go"


async def test_a_need_found_later_is_requested_for_this_call(build: Build) -> None:
    """The tool requests it with ``ctx.ask``."""

    async def later(payload: str, ctx: ToolContext) -> Result:
        reply = await ctx.ask((PermissionNeed("webfetch", "other.host"),), "Go on there?")
        return Result(f"{payload} {reply.answer}")

    harness = build(ProbeTool(later), replies=(PermissionReply("once"),))
    assert completed(await harness.call("probe")).output == "go once"
    assert harness.seen.events[1:] == ["waiting", "answered"]


async def test_a_tool_error_is_sent_to_the_model(build: Build) -> None:
    async def refuse(payload: str, ctx: ToolContext) -> Result:
        raise ToolError("There is no such thing.")

    outcome = failed(await build(ProbeTool(refuse)).call("probe"))
    assert (outcome.kind, outcome.error) == ("error", "There is no such thing.")


async def test_a_fault_of_a_tool_is_logged_and_ends_the_call_only(
    build: Build, caplog: pytest.LogCaptureFixture
) -> None:
    async def break_down(payload: str, ctx: ToolContext) -> Result:
        raise LookupError("broken")

    outcome = failed(await build(ProbeTool(break_down)).call("probe"))
    assert outcome.kind == "error"
    assert "LookupError: broken" in outcome.error
    assert "Traceback" not in outcome.error
    assert any(record.exc_info for record in caplog.records)


async def test_output_is_cut_and_spilled(build: Build) -> None:
    whole = "".join(f"line {number}\n" for number in range(10_000))

    async def much(payload: str, ctx: ToolContext) -> Result:
        return Result(whole)

    done = completed(await build(ProbeTool(much)).call("probe"))
    assert done.output.startswith("line 0\n")
    assert len(done.output.encode()) <= 51_200
    assert done.spill is not None
    assert done.spill in done.output
    assert text_of(done.spill) == whole


def text_of(path: str) -> str:
    return Path(path).read_text()


async def test_a_long_error_is_cut(build: Build) -> None:
    async def much(payload: str, ctx: ToolContext) -> Result:
        raise ToolError("x\n" * 100_000)

    assert len(failed(await build(ProbeTool(much)).call("probe")).error) <= 51_200


async def test_nothing_unencodable_leaves(build: Build) -> None:
    """Output, blocks, label and facts."""

    async def odd(payload: str, ctx: ToolContext) -> Result:
        return Result(
            "a\udcff",
            label=ToolLabel("Probe", "\udcff"),
            blocks=(ListingBlock(("ok", "\ud83d"), 2),),
            facts=("\udcff",),
        )

    done = completed(await build(ProbeTool(odd)).call("probe", '{"command": "\\ud83d"}'))
    assert done.input == {"command": "\ufffd"}
    assert done.output == "a\ufffd"
    assert done.blocks == (ListingBlock(("ok", "\ufffd"), 2),)


async def test_a_failed_result_cancels_its_siblings(build: Build) -> None:

    async def fail(payload: str, ctx: ToolContext) -> Result:
        return Result("no", failed=True, exit_code=2)

    done = completed(await build(ProbeTool(fail)).call("probe"))
    assert done.cancels_siblings
    assert done.exit_code == 2


async def test_a_cancel_passes_and_ends_the_command(build: Build, tmp_path: Path) -> None:
    truncator = Truncator(Limits(), SpillStore(tmp_path / "spill"))
    tool = BashTool(BashSettings(), truncator, Shells(Bus()))
    harness = build(tool, replies=(PermissionReply("once"),))
    started = asyncio.Event()
    shown: list[str] = []

    def progress(text: str) -> None:
        shown.append(text)
        started.set()

    harness.context = replace(harness.context, progress=progress)
    call = asyncio.create_task(harness.call("bash", '{"command": "echo $$; sleep 300; true"}'))
    try:
        async with asyncio.timeout(30):
            await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not lives(int(shown[0]))
    finally:
        kill_all()


def lives(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b") Z " not in Path(f"/proc/{pid}/stat").read_bytes()
    return False


async def test_a_cancel_closes_the_question(build: Build) -> None:
    harness = build(ProbeTool(needs=True))
    call = asyncio.create_task(harness.call("probe"))
    async with asyncio.timeout(30):
        while True:
            if harness.service.pending():
                break
            await asyncio.sleep(0)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert harness.service.pending() == ()
    assert harness.seen.events[-1] == "answered"
