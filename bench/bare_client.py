"""The smallest client that does the same work, for comparison.

``python -m bench.bare_client URL`` asks once and exits.
"""

import asyncio
import json
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit


async def decode(url: str, text: str) -> float:
    """Return the CPU seconds to read a streamed response to *text* and decode its JSON, line by
    line."""
    body = {"model": "one", "messages": [{"role": "user", "content": text}], "stream": True}
    before = time.process_time()
    await _exchange(url, json.dumps(body).encode())
    return time.process_time() - before


async def loop(url: str, project: Path, steps: int) -> float:
    """Return the CPU seconds of a turn of *steps* reads: the growing requests and the files."""
    named = {"type": "object", "properties": {"file_path": {"type": "string"}}}
    name = {"name": "read", "parameters": named}
    body = {
        "model": "one",
        "messages": [{"role": "user", "content": f"loop {steps}"}],
        "tools": [{"type": "function", "function": name}],
        "stream": True,
    }
    before = time.process_time()
    for step in range(steps):
        await _exchange(url, json.dumps(body).encode())
        read = (project / f"file{step % 40}.txt").read_text("utf-8")
        function = {"name": "read", "arguments": json.dumps({"file_path": f"file{step}.txt"})}
        call = {"id": f"call_{step}", "type": "function", "function": function}
        body["messages"] += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": read},
        ]
    return time.process_time() - before


async def _exchange(url: str, body: bytes) -> None:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    head = (
        f"POST {parts.path}/chat/completions HTTP/1.1\r\nhost: {parts.netloc}\r\n"
        f"content-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    async for line in reader:
        data = line.removeprefix(b"data: ")
        if data.startswith(b"{"):
            json.loads(data)
    writer.close()
    await writer.wait_closed()


if __name__ == "__main__":
    asyncio.run(decode(sys.argv[1], "hello"))
