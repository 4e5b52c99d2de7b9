"""``python -m bench.large_store [sessions]``: reading a large database.

The database is created once in the folder BENCH_STORE (default: a temporary one, removed
afterwards): 10,000 sessions of 100 parts each by default. Every row is a complete read as the
program does it, in wall time, the median of several; the limit is what feels instant, five times
a fixed loop.
"""

import asyncio
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path

from agent.bus import Bus
from agent.records.blocks import ShellBlock, ToolLabel
from agent.records.messages import (
    AssistantMessage,
    Completed,
    Session,
    TextPart,
    ToolPart,
    Usage,
    UserMessage,
)
from agent.store.listing import SessionScope
from agent.store.store import Store
from agent.store.writes import Record, write_records
from app.screens.session_list.screen import SessionFilter, session_rows, similar_titles
from bench.table import Row, calibration, ms, show, to_loop

SESSIONS = 10_000
TURNS = 5
TOOLS = 17
"""With a question and two responses per turn these are 20 parts, 100 per session."""
TRIES = 7
LIMIT = 5
START = 1_700_000_000.0


def main(arguments: list[str]) -> int:
    sessions = int(arguments[0]) if arguments else SESSIONS
    rows = [calibration()]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(os.environ.get("BENCH_STORE", temporary))
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"sessions-{sessions}.db"
        rows += asyncio.run(_measured(path, sessions, known=path.exists()))
        rows.append(Row("store: size of the file", f"{path.stat().st_size / 2**20:,.0f} MiB"))
    rows.append(calibration())
    show(rows)
    return 0


async def _measured(path: Path, sessions: int, *, known: bool) -> list[Row]:
    begun = time.perf_counter()
    store = await Store.open(path, Bus())
    opened = time.perf_counter() - begun
    rows: list[Row] = []
    try:
        if not known:
            await _fill(store, sessions)
            took = time.perf_counter() - begun
            rows.append(Row(f"store: made {sessions:,} sessions", f"{took:.0f} s"))
        else:
            rows.append(to_loop("store: opened", ms(opened), opened, LIMIT))
        for name, work in _works(store, sessions).items():
            rows.append(await _row(f"store: {name}", work))
    finally:
        await store.close()
    return rows


def _works(store: Store, sessions: int) -> dict[str, Callable[[], Awaitable[object]]]:
    here, everywhere = SessionScope("/desk/p3"), SessionScope()
    middle = f"ses_{sessions // 2:06}"
    return {
        "list of a folder": lambda: store.session_list(here),
        "list of all folders": lambda: store.session_list(everywhere),
        "filter of all titles": partial(_filtered, store),
        "search, a word in many texts": lambda: store.search_sessions("word1", everywhere),
        "search, two words": lambda: store.search_sessions("word77 word1200", everywhere),
        "search, a word in one text": lambda: store.search_sessions("needle", everywhere),
        "search, part of a word": lambda: store.search_sessions("eedl", everywhere),
        "search, two signs of Chinese": lambda: store.search_sessions("会话", everywhere),
        "search, nothing": lambda: store.search_sessions("absent everywhere", everywhere),
        "search, in one folder": lambda: store.search_sessions("word12", here),
        "open a session (last page)": lambda: store.page(middle, limit=400),
        "what was used in 30 days": lambda: store.usage_rows(START + (sessions - 100) * 60),
        "what was ever used": store.usage_rows,
    }


async def _filtered(store: Store) -> object:
    lines = await store.session_list(SessionScope())
    near = await similar_titles("titel of thing", lines)
    wanted = SessionFilter("title 77", everywhere=True)
    return session_rows(lines, (), near, typed=wanted.typed, session_filter=wanted, now=START)


async def _row(name: str, work: Callable[[], Awaitable[object]]) -> Row:
    took: list[float] = []
    for _ in range(TRIES):
        begun = time.perf_counter()
        await work()
        took.append(time.perf_counter() - begun)
    value = statistics.median(took)
    return to_loop(name, f"{ms(value)} (first {ms(took[0])})", value, LIMIT)


async def _fill(store: Store, sessions: int) -> None:
    chance = random.Random(7)
    for first in range(0, sessions, 50):
        batch = [r for n in range(first, min(first + 50, sessions)) for r in _session(n, chance)]
        await store._database.write(partial(write_records, records=batch))


def _session(n: int, chance: random.Random) -> Iterator[Record]:
    id_, when = f"ses_{n:06}", START + n * 60
    yield Session(
        id=id_,
        directory=f"/desk/p{n % 40}",
        project=f"/desk/p{n % 40}",
        title=f"Title {n} of {_words(chance, 4)}",
        created=when,
        updated=when,
        turns=TURNS,
        cost=0.1,
    )
    for turn in range(TURNS):
        key = f"{n:06}{turn:02}"
        ask, reply = f"msg_{key}a", f"msg_{key}b"
        yield UserMessage(
            id=ask, session_id=id_, created=when, agent="build", model="bench/one", turn_id=key
        )
        yield _text(f"prt_{key}00", id_, ask, _words(chance, 30))
        yield AssistantMessage(
            id=reply,
            session_id=id_,
            created=when,
            parent_id=ask,
            turn_id=key,
            step=1,
            agent="build",
            model="bench/one",
            completed=when + 1,
            usage=Usage(input=1000, output=100),
            cost=0.02,
        )
        rare = " needle" if n == 17 and turn == 0 else " 我想保存会话记录" if n % 500 == 3 else ""
        yield _text(f"prt_{key}01", id_, reply, _words(chance, 60) + rare)
        for tool in range(TOOLS):
            yield _tool(f"prt_{key}{tool + 2:02}", id_, reply, chance)
        yield _text(f"prt_{key}99", id_, reply, _words(chance, 60))


def _words(chance: random.Random, count: int) -> str:
    return " ".join(f"word{min(1999, int(chance.expovariate(1 / 300)))}" for _ in range(count))


def _text(id_: str, session_id: str, message_id: str, text: str) -> TextPart:
    return TextPart(
        id=id_, session_id=session_id, message_id=message_id, text=text, started=1.0, ended=2.0
    )


def _tool(id_: str, session_id: str, message_id: str, chance: random.Random) -> ToolPart:
    output = "\n".join(f"line {chance.random()}" for _ in range(10))
    return ToolPart(
        id=id_,
        session_id=session_id,
        message_id=message_id,
        call_id=id_,
        tool="bash",
        state=Completed(
            input={"command": "make"},
            label=ToolLabel("Bash", "make"),
            started=1.0,
            ended=2.0,
            output=output,
            blocks=(ShellBlock("make", output, 0),),
        ),
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
