"""A small language server over stdin and stdout for tests. Run as a program; its first argument is
its behavior:

    good      push an error for each line that contains ERROR (with the document version)
    late      the same, once the file of the second argument exists
    plain     the same as late, without the version
    pull      the same on request (textDocument/diagnostic)
    silent    start, then answer nothing
    mute      never start
    dies      exit at the first opened file
    garbage   answer the handshake with something else
    fat       use 300 MiB of memory once a file is open
    flood     report 10,000 errors of a file in 10,000 messages, the last of which has all
    ceaseless push errors of a file forever
    spoken    request settings and report the response as an error

It writes each received message as a line to the file in ``LSP_LOG``, if that is set.
"""

import json
import os
import queue
import sys
import threading
import time
from pathlib import Path


def read():
    length = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if not line.strip():
            break
        if line.lower().startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    return json.loads(sys.stdin.buffer.read(length))


def write(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()


def errors(text):
    return [
        {
            "range": {"start": {"line": n, "character": line.index("ERROR")}},
            "severity": 1,
            "source": "tiny",
            "code": "E1",
            "message": line.strip(),
        }
        for n, line in enumerate(text.splitlines())
        if "ERROR" in line
    ]


def definition(texts, params):
    """Return the definition of the word at the position: the line that begins with ``def word``."""
    place = params["position"]
    line = texts[params["textDocument"]["uri"]].splitlines()[place["line"]]
    units = line.encode("utf-16-le")[2 * place["character"] :].decode("utf-16-le")
    word = units.split("(")[0].split()[0]
    return [
        {"uri": uri, "range": {"start": {"line": n, "character": 4}}}
        for uri, text in texts.items()
        for n, one in enumerate(text.splitlines())
        if one.startswith(f"def {word}(")
    ]


MANY = 10_000


def flood(uri, version):
    all_of_them = errors("\n".join(f"ERROR {n} " + "x" * 90 for n in range(MANY)))
    for n in range(1, MANY):
        tell(uri, version, all_of_them[n : n + 1])
    tell(uri, version, all_of_them)


def drip(uri, version):
    while True:
        tell(uri, version, errors("ERROR once more"))
        time.sleep(0.01)


def tell_late(late):
    while True:
        uri, version, found = late.get()
        while not Path(sys.argv[2]).exists():
            time.sleep(0.01)
        tell(uri, version, found)


def tell(uri, version, found):
    said = {"uri": uri, "version": version, "diagnostics": found}
    said = said if version is not None else {"uri": uri, "diagnostics": found}
    write({"method": "textDocument/publishDiagnostics", "params": said})


def serve(mode):
    texts, held, log = {}, [], os.environ.get("LSP_LOG")
    late = queue.Queue()
    if mode in {"late", "plain"}:
        threading.Thread(target=tell_late, args=(late,), daemon=True).start()
    while True:
        message = read()
        if log:
            with Path(log).open("a") as file:
                file.write(json.dumps(message) + "\n")
        method, number, params = message.get("method"), message.get("id"), message.get("params")
        if method == "initialize":
            if mode == "mute":
                continue
            if mode == "garbage":
                sys.stdout.buffer.write(b"Hello!\r\n\r\nContent-Length: many\r\n\r\n")
                sys.stdout.buffer.flush()
                continue
            able = {"textDocumentSync": 1, "definitionProvider": True}
            if mode == "pull":
                able["diagnosticProvider"] = {}
            write({"id": number, "result": {"capabilities": able}})
        elif method in {"textDocument/didOpen", "textDocument/didChange"}:
            document = params["textDocument"]
            uri = document["uri"]
            texts[uri] = document.get("text") or params["contentChanges"][0]["text"]
            if mode == "dies":
                sys.stderr.write("out of ideas\n")
                sys.exit(3)
            if mode == "fat" and not held:
                held.append(bytearray(os.urandom(1024)) * 300_000)
            if mode == "spoken":
                ask = {"items": [{"section": "tiny.rules"}, {"section": "other"}]}
                write({"id": 99, "method": "workspace/configuration", "params": ask})
                texts[uri] = "ERROR settings " + json.dumps(read()["result"])
            if mode == "flood":
                flood(uri, document["version"])
            if mode == "ceaseless":
                threading.Thread(target=drip, args=(uri, document["version"]), daemon=True).start()
            if mode in {"late", "plain"}:
                version = document["version"] if mode == "late" else None
                late.put((uri, version, errors(texts[uri])))
            if mode in {"good", "fat", "spoken"}:
                tell(uri, document["version"], errors(texts[uri]))
        elif method == "shutdown":
            write({"id": number, "result": None})
        elif method == "exit":
            sys.exit(0)
        elif number is None or mode == "silent":
            continue
        elif method == "textDocument/diagnostic":
            text = texts[params["textDocument"]["uri"]]
            write({"id": number, "result": {"kind": "full", "items": errors(text)}})
        elif method == "textDocument/definition":
            write({"id": number, "result": definition(texts, params)})
        elif method is not None:
            write({"id": number, "error": {"code": -32601, "message": f"no {method} here"}})


if __name__ == "__main__":
    serve(sys.argv[1])
