"""A scripted model in a process of its own, so that its cost is not counted.

Prints its address, then answers by a word in the newest user message: ``deltas N`` (N deltas
of 5 characters), ``paced N`` (one each 10 ms) or ``loop N`` (N reads, one a step).
"""

import asyncio
import re
import sys

from tests.support.model_server import ModelServer
from tests.support.script import Answer, Call, Raw, Text, answer


def scripted(body: dict) -> Answer:
    users = [m["content"] for m in body["messages"] if m["role"] == "user"]
    found = re.search(r"(deltas|paced|loop) (\d+)", str(users[-1]))
    if found is None:
        return answer(Text("short. DONE"))
    word, count = found[1], int(found[2])
    if word == "loop":
        newest = max(i for i, m in enumerate(body["messages"]) if m["role"] == "user")
        done = sum(m["role"] == "tool" for m in body["messages"][newest:])
        if done < count:
            return answer(Call("read", {"file_path": f"file{done % 40}.txt", "offset": 1 + done}))
        return answer(Text("all read. DONE"))
    words = [Text(f"{n:04} " if n % 12 else f"{n:04}\n\n") for n in range(count)]
    if word == "paced":
        paced = [piece for text in words for piece in (text, Raw(b": 10\n\n"))]
        return answer(*paced, Text("DONE"))
    return answer(*words, Text("DONE"))


async def main() -> None:
    async with ModelServer(pause=0.01) as server:
        server.always(scripted)
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
