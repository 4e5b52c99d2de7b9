"""Export and import: nothing is lost except secrets, and imported sessions are valid."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from agent.bus import Bus
from agent.records.blocks import SubtaskBlock, TodoItem
from agent.records.errors import NothingToDo
from agent.records.messages import AssistantMessage, CompactionPart, Failed, ToolPart
from agent.session.context.request_turns import request_turns
from agent.store.store import Store
from agent.transfer.bundle import Bundle, collect_bundle, to_json, without_secrets
from agent.transfer.exporter import default_name, export, export_form, export_text
from agent.transfer.importer import import_file, parse_export
from tests.agent.store.samples import (
    DECISIONS,
    every_part,
    make_assistant,
    make_session,
    make_text,
    make_user,
)
from tests.support import records

KEY = "sk-" + "a1b2c3d4" * 4


@pytest.fixture
async def store(tmp_path: Path):
    opened = await Store.open(tmp_path / "sessions.db", Bus())
    yield opened
    await opened.close()


async def stored_session(store: Store, text: str = "hello") -> str:
    """Store a session with every kind of part, to-dos and a sub-agent's session."""
    session = make_session(title="A <b>title</b>", turns=1)
    user = make_user(session, turn_id="trn_0")
    step = make_assistant(session, parent_id=user.id, completed=20.0, finish="stop")
    child = make_session(parent_id=session.id, title="child")
    asked = make_user(child, turn_id="trn_1")
    await store.save(session, user, make_text(user, text, ended=1.0), step, *every_part(step))
    await store.save(child, asked, make_text(asked, "look", ended=1.0))
    await store.save_todos(session.id, (TodoItem("do it", "in_progress", "high"),))
    return session.id


def shape(bundle: Bundle) -> str:
    """Return *bundle* without ids."""
    text = json.dumps(to_json(bundle), sort_keys=True)
    return re.sub(r"\b(ses|msg|prt|trn)_\w+", r"\1", text)


async def test_an_imported_session_equals_the_exported_one(store: Store, tmp_path: Path) -> None:
    session_id = await stored_session(store)
    path = tmp_path / "it.json"
    assert await export(store, session_id, path) == path.stat().st_size
    before = await collect_bundle(store, session_id)
    imported = await import_file(store, path, directory="/desk/b", project="/desk/b")
    after = await collect_bundle(store, imported.id)
    moved = replace(after, session=replace(after.session, directory="/desk/a", project="/desk"))
    children = tuple(
        replace(c, session=replace(c.session, directory="/desk/a", project="/desk"))
        for c in moved.children
    )
    moved = replace(moved, children=children)
    # Calls that were running during the export have ended: nothing would end them here.
    settled = [p for m in moved.messages for p in m.parts if isinstance(p, ToolPart)]
    assert all(part.state.status in {"completed", "failed"} for part in settled)
    done = {p.id for m in before.messages for p in m.parts if p.type != "tool"}
    assert sum(len(m.parts) for m in moved.messages) == sum(len(m.parts) for m in before.messages)
    assert len(done) == sum(p.type != "tool" for m in moved.messages for p in m.parts)
    assert moved.todos == before.todos
    assert shape(moved.children[0]) == shape(before.children[0])
    assert {m.message.id for m in moved.messages}.isdisjoint(m.message.id for m in before.messages)
    again = await import_file(store, path, directory="/desk/b", project="/desk/b")
    assert again.id != imported.id


async def test_secrets_are_redacted_in_every_form(store: Store) -> None:
    session_id = await stored_session(store, f"use {KEY} and hunter2hunter2")
    bundle = await collect_bundle(store, session_id)
    left = without_secrets(bundle, ("hunter2hunter2",))
    for form in ("json", "md", "html"):
        text = export_text(left, form)
        assert KEY not in text
        assert "hunter2" not in text
        assert "[redacted]" in text
        assert KEY in export_text(bundle, form)


class Page(HTMLParser):
    """Collects tags and addresses, and checks that every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.addresses: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.addresses += [v or "" for k, v in attrs if k == "src"]
        links = [v or "" for k, v in attrs if k == "href"]
        assert not [link for link in links if not link.startswith(("#", "http"))]
        assert not [k for k, _ in attrs if k.startswith("on")]
        if tag not in {"meta", "img", "br", "hr"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


async def test_html_is_self_contained_and_runs_nothing(store: Store) -> None:
    """Text of a session never becomes markup of the page."""
    evil = (
        "<script>alert(1)</script> [x](javascript:alert(1)) ![p](http://evil/p.png) <img src=x>\n"
        "```html\n</code></pre><script>1</script>\n```"
    )
    session_id = await stored_session(store, evil)
    bundle = await collect_bundle(store, session_id)
    step = bundle.messages[-1].message
    assert isinstance(step, AssistantMessage)
    more = replace(bundle.messages[-1], parts=(make_text(step, evil, ended=1.0),))
    page = Page()
    text = export_text(replace(bundle, messages=(*bundle.messages, more)), "html")
    page.feed(text)
    assert not page.open
    assert not page.tags & {"script", "link", "iframe", "object", "form"}
    assert not [a for a in page.addresses if not a.startswith("data:image/")]
    assert "default-src 'none'" in text
    assert "A &lt;b&gt;title" in text


def test_a_page_shows_a_sub_agents_report_and_no_empty_box() -> None:
    report = SubtaskBlock("ses_c", "explore", "look", text="None has the *fault*.")
    calls = (
        replace(records.completed("Explore", "the readers"), blocks=(report,)),
        records.completed("Plan", ""),
    )
    parts = [records.tool(f"prt_{n}", "msg_b", call) for n, call in enumerate(calls)]
    step = records.assistant("msg_b", *parts)
    text = export_text(
        Bundle(records.session("ses_1"), (records.user("msg_a", "go"), step)), "html"
    )
    assert "None has the <em>fault</em>." in text
    assert "<pre></pre>" not in text
    assert "<code></code>" not in text


async def test_every_format_shows_the_source_of_approval(store: Store, tmp_path: Path) -> None:
    session_id = await stored_session(store)
    bundle = await collect_bundle(store, session_id)
    for form in ("md", "html"):
        text = export_text(bundle, form)
        assert "allowed by bash `ls` (global)" in text
        assert "rejected “not this one”" in text
    path = tmp_path / "it.json"
    await export(store, session_id, path)
    imported = await import_file(store, path, directory="/desk/b", project="/desk/b")
    parts = [p for m in await store.messages(imported.id) for p in m.parts]
    assert [p.decisions for p in parts if isinstance(p, ToolPart) and p.decisions] == [DECISIONS]


async def test_markdown_fences_enclose_any_output(store: Store) -> None:
    session = make_session()
    shell = records.completed("Bash", "cat `a`", exit_code=0)
    block = records.diff("a.md", "+```", "+text")
    item = records.assistant(
        "msg_b", records.tool("prt_1", "msg_b", replace(shell, blocks=(block,)))
    )
    text = export_text(Bundle(session, (records.user("msg_a", "hi\nthere"), item)), "md")
    assert "> hi\n> there" in text
    assert "````diff\n" in text
    assert "``cat `a` ``" in text or "`` cat `a` ``" in text


async def test_errors_explain_the_next_step(store: Store, tmp_path: Path) -> None:
    session_id = await stored_session(store)
    (tmp_path / "a.html").write_text("mine")
    with pytest.raises(NothingToDo, match="already exists"):
        await export(store, session_id, tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text() == "mine"
    with pytest.raises(NothingToDo, match="cannot be written: no such file"):
        await export(store, session_id, tmp_path / "no" / "a.md")
    with pytest.raises(NothingToDo, match=r"\.html, \.md or \.json"):
        export_form("a.pdf")
    assert default_name(make_session(title="Größe: ändern!"), "md") == "größe-ändern.md"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("not json", "not a JSON file"),
        ("[1]", "contains no opencode-py or opencode session"),
        ('{"format": "opencode-py/session", "version": 99}', "newer version"),
        ('{"format": "opencode-py/session", "version": 1, "session": {}}', "damaged"),
        ('{"format": "opencode-py/session", "version": 1, "session": 3, "messages": 4}', "damaged"),
        ("[" * 100_000, "not a JSON file"),
    ],
)
async def test_a_file_that_is_no_export_is_refused(
    store: Store, tmp_path: Path, text: str, why: str
) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(NothingToDo, match=why):
        await import_file(store, path, directory="/w", project="/w")
    assert await store.sessions() == []


OPENCODE = {
    "info": {
        "id": "ses_zzz",
        "title": "Theirs",
        "directory": "/elsewhere",
        "time": {"created": 1_000_000, "updated": 2_000_000},
    },
    "messages": [
        {
            "info": {
                "id": "msg_1",
                "role": "user",
                "time": {"created": 1_000_000},
                "agent": "build",
                "model": {"providerID": "anthropic", "modelID": "claude-x", "variant": "high"},
            },
            "parts": [
                {"id": "prt_1", "type": "text", "text": "fix it"},
                {
                    "id": "p",
                    "type": "file",
                    "mime": "image/png",
                    "url": "data:image/png;base64,AAAA",
                },
            ],
        },
        {
            "info": {
                "id": "msg_2",
                "role": "assistant",
                "parentID": "msg_1",
                "providerID": "anthropic",
                "modelID": "claude-x",
                "agent": "build",
                "cost": 0.25,
                "finish": "tool-calls",
                "time": {"created": 1_001_000, "completed": 1_005_000},
                "tokens": {
                    "input": 10,
                    "output": 20,
                    "reasoning": 5,
                    "cache": {"read": 100, "write": 7},
                },
            },
            "parts": [
                {"type": "step-start", "snapshot": "abc"},
                {"type": "reasoning", "text": "hm", "time": {"start": 1_001_000}},
                {
                    "type": "tool",
                    "callID": "call_1",
                    "tool": "edit",
                    "state": {
                        "status": "completed",
                        "input": {"filePath": "/elsewhere/a.py"},
                        "output": "done",
                        "title": "a.py",
                        "metadata": {"filediff": {"file": "a.py", "before": "x\n", "after": "y\n"}},
                        "time": {"start": 1_002_000, "end": 1_003_000},
                    },
                },
                {
                    "type": "tool",
                    "callID": "call_2",
                    "tool": "bash",
                    "state": {"status": "running", "input": {"command": "make"}, "time": {}},
                },
                {"type": "something-new", "x": 1},
            ],
        },
        {
            "info": {"id": "msg_3", "role": "user", "time": {"created": 1_006_000}},
            "parts": [{"type": "compaction", "auto": True, "tail_start_id": "msg_2"}],
        },
        {
            "info": {"id": "msg_4", "role": "assistant", "summary": True, "time": {}},
            "parts": [{"type": "text", "text": "what was done"}],
        },
        {
            "info": {
                "id": "msg_5",
                "role": "assistant",
                "error": {"name": "APIError", "data": {"message": "overloaded"}},
                "time": {"created": 1_007_000, "completed": 1_008_000},
            },
            "parts": [],
        },
        "what is this",
    ],
}


async def test_opencodes_export_is_imported(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "theirs.json"
    path.write_text(json.dumps(OPENCODE))
    session = await import_file(store, path, directory="/w", project="/w")
    assert (session.title, session.directory, session.created) == ("Theirs", "/w", 1000.0)
    assert (session.model, session.turns, session.cost) == ("anthropic/claude-x", 1, 0.25)
    messages = await store.messages(session.id)
    user, step, summary, failed = (item.message for item in messages)
    assert user.role == "user"
    assert (user.effort, [p.type for p in messages[0].parts]) == ("high", ["text", "file"])
    assert isinstance(step, AssistantMessage)
    assert step.usage is not None
    assert (step.usage.input, step.usage.output, step.usage.cache_read) == (117, 25, 100)
    assert (step.parent_id, step.turn_id) == (user.id, user.turn_id)
    edit, bash = (p for p in messages[1].parts if isinstance(p, ToolPart))
    assert [block.kind for block in edit.state.blocks] == ["diff"]  # type: ignore[union-attr]
    assert isinstance(bash.state, Failed)
    assert bash.state.kind == "interrupted"
    (marker,) = messages[2].parts
    assert isinstance(marker, CompactionPart)
    assert (marker.summary, marker.tail_start_id) == ("what was done", step.id)
    assert summary.role == "user"
    assert summary.synthetic
    assert isinstance(failed, AssistantMessage)
    assert failed.error is not None
    assert failed.error.message == "overloaded"
    assert request_turns(messages)  # valid to be sent: every call has a result


def test_invalid_values_in_opencodes_format_are_ignored() -> None:
    odd = {"info": {"title": 3}, "messages": [{"info": 1}, {}, {"info": {"role": "user"}}]}
    bundle = parse_export(odd, "odd.json")
    assert bundle.messages == ()
    assert bundle.session.title == ""


@pytest.mark.parametrize("form", ["md", "html"])
def test_a_document_shows_reports_summaries_and_user_shell_commands(form: str) -> None:
    """A background task's report, a summary, a shell command of the user's."""
    summary = CompactionPart(
        id="prt_s", session_id="ses_1", message_id="msg_b", summary="It was <done>.", auto=True
    )
    own = records.tool("prt_d", "msg_d", records.completed("Bash", "make"), name="bash")
    parts = (records.report("msg_a", "None has the *fault*."), summary, own)
    failed = records.report("msg_e", error="No model.", outcome="failed", facts=())
    entries = [
        records.user(part.message_id, "for the model", part, synthetic=True)
        for part in (*parts, failed)
    ]
    text = export_text(Bundle(records.session("ses_1"), tuple(entries)), form)
    seen = ["Explore reports: find the readers · 3 tool calls", "Earlier messages were summarized"]
    html = ["None has the <em>fault</em>.", "It was &lt;done&gt;.", "<code>make</code>"]
    seen += html if form == "html" else ["None has the *fault*.", "It was <done>.", "`make`"]
    for words in (*seen, "Explore failed: find the readers", "No model."):
        assert words in text
    assert "for the model" not in text
