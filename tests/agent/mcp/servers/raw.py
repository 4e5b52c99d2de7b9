"""A server without the SDK that does one thing wrong: ``raw.py FAULT``."""

import json
import sys
import time

FAULT = sys.argv[1]

GOOD = {"name": "good", "description": "Works.", "inputSchema": {"type": "object"}}
BAD = [
    {"name": "string", "inputSchema": {"type": "string"}},
    {"name": "none"},
    {"name": "word", "inputSchema": "no"},
    {"name": "ref", "inputSchema": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}},
    {"name": "any", "inputSchema": {"anyOf": [{"type": "object", "properties": {"a": {}}}]}},
    {
        "name": "int",
        "inputSchema": {"type": "object", "properties": {"n": {"type": "int"}}},
        "annotations": {"readOnlyHint": "yes"},
        "outputSchema": {"type": "nonsense"},
    },
    {"name": "alien", "inputSchema": {"type": "object", "properties": {"n": {"type": "blob"}}}},
    {"name": 7, "inputSchema": {"type": "object"}},
    {
        "name": "later",
        "inputSchema": {"type": "object"},
        "execution": {"taskSupport": "required"},
    },
    "no tool",
]


FORM = {
    "type": "object",
    "properties": {
        "wood": {"type": "string", "title": "Wood", "enum": ["oak", "pine"]},
        "legs": {"type": "integer", "description": "How many legs"},
        "painted": {"type": "boolean"},
        "name": {"type": "string", "default": "Bob"},
        "tools": {
            "type": "array",
            "items": {
                "anyOf": [{"const": "saw", "title": "Saw"}, {"const": "glue", "title": "Glue"}]
            },
            "minItems": 1,
        },
        "mail": {"type": "string", "format": "email", "maxLength": 12},
    },
    "required": ["wood", "legs"],
}

CHOICES = {
    "type": "object",
    "properties": {
        "wood": {"type": "string", "enum": ["oak", "pine"]},
        "painted": {"type": "boolean"},
    },
    "required": ["wood"],
}


SAMPLE = {
    "systemPrompt": "You are terse.",
    "messages": [
        {"role": "user", "content": {"type": "text", "text": "What is oak?"}},
        {"role": "assistant", "content": {"type": "text", "text": "A tree."}},
        {"role": "user", "content": {"type": "text", "text": "And pine\u202e?"}},
    ],
    "maxTokens": 300,
    "modelPreferences": {"hints": [{"name": "clever"}]},
}
ASKED = {
    "asks": ("elicitation/create", {"message": "What shall it be?", "requestedSchema": FORM}),
    "chooses": ("elicitation/create", {"message": "What shall it be?", "requestedSchema": CHOICES}),
    "samples": ("sampling/createMessage", SAMPLE),
    "roots": ("roots/list", {}),
}
"""What is asked in the middle of a call, as often as its argument ``times`` says."""


MUTE = {"resources/read", "prompts/get"}
"""Requests that ``mute`` never answers; after a call, it answers for its tools no more either."""

heard: list[dict] = []
"""The notifications that came."""


def send(message: dict) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tools(cursor: str | None) -> dict:
    if FAULT == "schemas":
        return {"tools": [*BAD, GOOD]}
    if FAULT == "circle":
        return {"tools": [{**GOOD, "name": f"good{cursor or ''}"}], "nextCursor": "again"}
    if FAULT == "many":
        made = [{**GOOD, "name": f"tool{n}", "description": "x" * 400} for n in range(300)]
        return {"tools": made}
    return {"tools": [GOOD]}


def answer(method: str, params: dict) -> dict | None:
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "raw", "version": "0"},
        }
    if method == "tools/list":
        return tools(params.get("cursor"))
    if method == "tools/call":
        if FAULT == "waits":
            return {"content": [{"type": "text", "text": json.dumps(heard)}]}
        if FAULT == "wrong":
            return {"content": "no list"}
        return {"structuredContent": {"seen": params.get("arguments")}}
    return None


def main() -> None:
    if FAULT == "exits":
        sys.exit("no licence found")
    if FAULT == "chats":
        for _ in range(3):
            sys.stdout.write("hello, I am a server\n")
    waiting, left = None, 0
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            heard.append(message)
        elif FAULT == "waits" and (message.get("params") or {}).get("arguments") == {"wait": True}:
            continue
        if FAULT in ASKED and message.get("method") == "tools/call":
            waiting = message["id"]
            left = (message["params"].get("arguments") or {}).get("times", 1)
        elif message.get("id") != "asked":
            left = 0
        if left:
            left -= 1
            method, params = ASKED[FAULT]
            send({"id": "asked", "method": method, "params": params})
            continue
        if message.get("id") == "asked":
            text = json.dumps(message.get("result") or message.get("error"))
            send({"id": waiting, "result": {"content": [{"type": "text", "text": text}]}})
            continue
        if FAULT == "mute" and message.get("method") in MUTE:
            continue
        if FAULT == "silent" or "id" not in message or "method" not in message:
            continue
        result = answer(message["method"], message.get("params") or {})
        if result is None:
            send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})
        else:
            send({"id": message["id"], "result": result})
        if FAULT == "mute" and message["method"] == "tools/call":
            MUTE.add("tools/list")
            send({"method": "notifications/tools/list_changed"})
    while FAULT == "silent":  # does not end when its input does
        time.sleep(60)


main()
