"""Sessions whose context window is full of read files."""

from agent.records.messages import Session
from tests.support.harness import Harness
from tests.support.script import Call, Text, answer


async def well_read(harness: Harness) -> Session:
    """Return a session that has read six files of 900 lines each, one per turn."""
    big = "".join(f"{n:06} the quick brown fox jumps over the lazy dog\n" for n in range(900))
    for number in range(6):
        (harness.folder / f"{number}.txt").write_text(big)
    session = await harness.session()
    for number in range(6):
        harness.server.script(
            answer(Call("read", {"file_path": f"{number}.txt"})), answer(Text("read"))
        )
        await harness.turn(session, f"read {number}")
    return session
