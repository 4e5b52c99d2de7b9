"""The memory of a project: proposed, accepted or edited, with the origin of each line."""

from pathlib import Path

from agent.records.memory import MemoryOrigin
from agent.records.requests import PermissionReply
from agent.session.memory import MAX_LINES, memory_lines, propose, write_lines
from agent.store import queries
from tests.support.harness import open_harness
from tests.support.script import Text, answer

ONCE = PermissionReply("once")


async def test_what_the_agent_proposes_is_not_written(tmp_path: Path) -> None:
    async with open_harness(tmp_path, small_model="none") as harness:
        (harness.folder / "AGENTS.md").write_text("- Use pnpm\n")
        proposed = "Here:\n\n- Use pnpm\n- Tests run with `make test`\n2. No tabs\nand more"
        harness.server.script(answer(Text("ok")), answer(Text(proposed)))
        session = await harness.session()
        await harness.turn(session, "go")
        editor = harness.runtime.guidance.instruction_editor
        lines = await propose(harness.runtime.sessions.quick_questions, editor, session.id)
        assert lines == ("Tests run with `make test`", "No tabs")
        assert (harness.folder / "AGENTS.md").read_text() == "- Use pnpm\n"
        many = "\n".join(f"- fact {number}" for number in range(20))
        harness.server.script(answer(Text(many)), answer(Text("none")))
        lines = await propose(harness.runtime.sessions.quick_questions, editor, session.id)
        assert len(lines) == MAX_LINES
        assert await propose(harness.runtime.sessions.quick_questions, editor, session.id) == ()


async def test_each_line_has_its_origin(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        file = harness.folder / "AGENTS.md"
        file.write_text("# Shop\n\n- By hand\n")
        session = await harness.runtime.sessions.repository.create(title="Fix the import")
        editor, store = harness.runtime.guidance.instruction_editor, harness.runtime.store
        agent = MemoryOrigin("agent", 5.0, session.id, edited=True)
        draft = await editor.draft("Use tabs", "No blanks")
        assert draft.request.heading == "Add these lines to AGENTS.md?"
        await write_lines(store, editor, draft, ONCE, {"Use tabs": agent, "No blanks": agent})
        assert file.read_text() == "# Shop\n\n- By hand\n- Use tabs\n- No blanks\n"
        file.write_text(file.read_text().replace("No blanks", "No blanks at all"))
        path, lines = await memory_lines(store, editor)
        assert path == str(file)
        assert [(line.text, line.origin, line.title) for line in lines] == [
            ("# Shop", None, ""),
            ("- By hand", None, ""),
            ("- Use tabs", agent, "Fix the import"),
            ("- No blanks at all", None, ""),
        ]
        await store.delete_session(session.id)
        _, lines = await memory_lines(store, editor)
        assert (lines[2].origin, lines[2].title) == (agent, "")


async def test_a_line_that_was_not_accepted_has_no_origin(tmp_path: Path) -> None:
    async with open_harness(tmp_path) as harness:
        editor, store = harness.runtime.guidance.instruction_editor, harness.runtime.store
        draft = await editor.draft("Use tabs")
        kept = {"Use tabs": MemoryOrigin("user", 5.0), "Other": MemoryOrigin("user", 5.0)}
        await write_lines(store, editor, draft, ONCE, kept)
        assert set(await store.read(queries.memory_origins, str(harness.folder / "AGENTS.md"))) == {
            "Use tabs"
        }
