"""An MCP server that asks the client before it lists its tools: ``early_server.py METHOD``."""

import json
import sys

METHOD = sys.argv[1]
FORM = {"message": "Who are you?", "requestedSchema": {"type": "object", "properties": {}}}
PROMPT = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Hello?"}}],
    "maxTokens": 10,
}
TOOL = {"name": "heard", "description": "Returns the answer.", "inputSchema": {"type": "object"}}


def send(message: dict) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    listing, heard = None, ""
    for line in sys.stdin:
        message = json.loads(line)
        match message:
            case {"id": "asked"}:
                heard = json.dumps(message.get("result") or message.get("error"))
                send({"id": listing, "result": {"tools": [TOOL]}})
            case {"id": number, "method": "initialize"}:
                facts = {"serverInfo": {"name": "early", "version": "0"}}
                able = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
                send({"id": number, "result": {**able, **facts}})
            case {"id": number, "method": "tools/list"}:
                listing = number
                params = FORM if METHOD == "elicitation/create" else PROMPT
                send({"id": "asked", "method": METHOD, "params": params})
            case {"id": number, "method": "tools/call"}:
                text = {"type": "text", "text": heard}
                send({"id": number, "result": {"content": [text]}})
            case {"id": number}:
                send({"id": number, "error": {"code": -32601, "message": "Method not found"}})
            case _:
                pass


main()
