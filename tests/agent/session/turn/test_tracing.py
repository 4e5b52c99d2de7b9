"""Spans of turns, steps, model calls and tools."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tests.support.harness import open_harness
from tests.support.script import Call, Text, Tokens, answer

# One provider for the process: OpenTelemetry takes no second one.
EXPORTER = InMemorySpanExporter()
PROVIDER = TracerProvider()
PROVIDER.add_span_processor(SimpleSpanProcessor(EXPORTER))


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    trace.set_tracer_provider(PROVIDER)
    EXPORTER.clear()
    yield EXPORTER
    EXPORTER.clear()


def named(spans: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [span for span in spans.get_finished_spans() if span.name == name]
    return found


async def test_a_turn_is_a_tree_of_spans(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(
            answer(Call("list", {}), Call("read", {"file_path": "secret name.txt"}), Tokens(90, 9)),
            answer(Text("a secret answer")),
        )
        session = await harness.session()
        await harness.turn(session, "a secret wish")
    turn = named(spans, "invoke_agent")
    step = named(spans, "step 1")
    tool = named(spans, "execute_tool read")
    assert turn.attributes is not None
    assert turn.attributes["gen_ai.conversation.id"] == session.id
    assert turn.attributes["opencode_py.outcome"] == "completed"
    assert step.parent is not None
    assert step.parent.span_id == turn.context.span_id
    assert tool.parent is not None
    assert tool.attributes is not None
    assert tool.attributes["gen_ai.tool.name"] == "read"
    assert tool.attributes["error.type"] == "error"
    assert tool.context.trace_id == turn.context.trace_id
    calls = [span for span in spans.get_finished_spans() if span.name == "chat model-1"]
    assert [call.attributes["gen_ai.usage.input_tokens"] for call in calls] == [90, 100]
    reasons = [call.attributes["gen_ai.response.finish_reasons"] for call in calls]
    assert reasons == [("tool-calls",), ("stop",)]
    finished = spans.get_finished_spans()
    assert {span.attributes["gen_ai.agent.name"] for span in finished} == {"build"}
    exported = "".join(span.to_json() for span in spans.get_finished_spans())
    assert "secret" not in exported


async def test_the_agent_of_a_turn_is_named(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    async with open_harness(tmp_path) as harness:
        harness.server.script(answer(Text("a plan")))
        session = await harness.session()
        await harness.send(session, "think", agent="plan")
        await harness.idle(session)
    assert {span.attributes["gen_ai.agent.name"] for span in spans.get_finished_spans()} == {"plan"}


def test_nothing_is_imported_unless_tracing_was_set_up() -> None:
    code = (
        "import sys; from agent.tracing import Tracing\n"
        "with Tracing({}).span('x', a=1) as span: span.set(b=2); span.failed('k', 'm')\n"
        "assert not [m for m in sys.modules if m.startswith('opentelemetry')]\n"
        "with Tracing({'OTEL_TRACES_EXPORTER': 'none'}).span('x'): pass\n"
        "assert not [m for m in sys.modules if m.startswith('opentelemetry')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[4])
