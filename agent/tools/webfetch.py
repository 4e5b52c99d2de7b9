"""The ``webfetch`` tool: a web page as Markdown, or an image."""

import asyncio
import contextlib
import math
import re
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from agent.files import decode
from agent.records.blocks import Block, TextBlock, ToolLabel
from agent.records.errors import ToolError
from agent.records.frozen import frozen
from agent.records.json import encodable
from agent.records.requests import PermissionNeed, PermissionReply
from agent.records.tool_facts import ToolFacts
from agent.tools.core.tool import BaseTool, Plan, Result, ToolContext, ToolSpec
from agent.tools.core.tool_args import ToolArgs
from agent.tools.core.truncate import without_invisible
from agent.tools.files.attachments import attach, check_media, check_supported
from agent.tools.files.media import media_type
from agent.tools.web.addresses import host_of, parse_url
from agent.tools.web.client import Web, WebResponse

if TYPE_CHECKING:  # kept off the start-up path
    import httpx2

DEFAULT_TIMEOUT = 30_000
MAX_TIMEOUT = 120_000
"""Milliseconds."""

CONVERSION_LIMIT = 10.0
"""The time limit in seconds for converting a page."""

MAX_SHOWN = 6_000
"""Characters in the transcript's block."""

MAX_PLAIN_URL = 200
"""Characters of a query that can be sent without a permission for the very URL."""

MIN_ENCODED_WORD = 40
"""Characters of a word in a URL that can be encoded data."""

Format = Literal["markdown", "text", "html"]

_ROOT = str(Path(__file__).resolve().parents[2])
_TEXT = re.compile(
    r"text/|application/(?:.*\+)?(?:json|xml|yaml|x-yaml|toml|javascript|ecmascript|x-sh|sql"
    r"|x-ndjson|jsonl|graphql|xhtml\+xml)$|image/svg\+xml$"
)
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_META_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}?charset=["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE
)


class WebfetchArgs(ToolArgs):
    """Arguments of ``webfetch``."""

    url: str = Field(description="The full URL, http or https")
    format: Format = Field(
        default="markdown",
        description="The format for an HTML page: markdown, plain text, or unchanged html",
    )
    timeout: int | None = Field(
        default=None, gt=0, description=f"Time limit in milliseconds (default {DEFAULT_TIMEOUT})"
    )


@frozen
class FetchPlan:
    """*seconds* is the time limit, *url* the URL that was shown."""

    url: "httpx2.URL"
    format: Format
    seconds: float


class WebfetchTool(BaseTool):
    """Fetches pages through *web*. *conversion* is the time limit of the conversion in seconds."""

    spec = ToolSpec(
        name="webfetch",
        verb="Fetch",
        aliases=("web_fetch", "fetch", "fetch_url", "browse"),
        concurrent=True,
    )
    facts = ToolFacts(action="ask", kind="fetch", claude_name="WebFetch", in_claude_settings=True)
    args = WebfetchArgs

    def __init__(self, web: Web, *, conversion: float = CONVERSION_LIMIT) -> None:
        self._web = web
        self._conversion = conversion
        self.spec = replace(self.spec, variables=web.limits.variables())

    async def prepare(self, args: WebfetchArgs, ctx: ToolContext) -> Plan[FetchPlan]:
        url = parse_url(args.url)
        self._web.check_literal(url)
        milliseconds = args.timeout or round(self._web.limits.seconds * 1000)
        return Plan(
            label=ToolLabel("Fetch", str(url)),
            payload=FetchPlan(url, args.format, min(milliseconds, MAX_TIMEOUT) / 1000),
            needs=(web_need(url),),
            blocks=(TextBlock(str(url)),),
            heading="Fetch this page?",
        )

    async def execute(
        self, plan: Plan[FetchPlan], reply: PermissionReply | None, ctx: ToolContext
    ) -> Result:
        call = plan.payload

        async def follow(url: "httpx2.URL") -> None:
            await ctx.ask((web_need(url, came_from=host_of(call.url)),), "Follow this redirect?")

        accept = "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.5"
        answer = await self._web.get(call.url, follow, {"accept": accept}, call.seconds)
        if answer.status < 400 and (found := media_type(answer.body)) is not None:
            check_supported(answer.url, found, len(answer.body), ctx)
            return await asyncio.to_thread(
                attach, answer.url, check_media(answer.url, answer.body), ctx
            )
        text = await _response_text(answer, call.format, self._conversion)
        if answer.status >= 400:
            error = f"{answer.url} answered with HTTP {answer.status}."
            raise ToolError(f"{error}\n\n{text[:1_000].strip()}".rstrip())
        return _result(call, answer, text)


def web_need(url: "httpx2.URL", *, came_from: str = "") -> PermissionNeed:
    """Return the permission for a host, or for the very URL if it can carry data out."""
    host = host_of(url)
    carries = exfiltration_risk(url)
    reason = f"{came_from} redirects there" if came_from else ""
    if carries:
        reason = "; ".join(part for part in (reason, f"the address {carries}") if part)
    return PermissionNeed(
        "webfetch",
        host,
        always=None if carries else host,
        shown=str(url),
        reason=reason,
        strict="unknown" if carries else "",
    )


def exfiltration_risk(url: "httpx2.URL") -> str:
    """Return why *url* can leak data of the user to its host, "" for a plain URL."""
    sent = url.raw_path.decode("ascii", "replace")
    if len(url.query) > MAX_PLAIN_URL or len(sent) > 4 * MAX_PLAIN_URL:
        return "is very long"
    for word in re.split(r"[^A-Za-z0-9+=~]+", sent):
        if len(word) >= MIN_ENCODED_WORD and not re.fullmatch(r"[0-9a-fA-F]+", word):
            counts = Counter(word).values()
            bits = -sum(n / len(word) * math.log2(n / len(word)) for n in counts)
            if bits > 4:
                return "contains what looks like encoded data"
    return ""


async def _response_text(answer: WebResponse, wanted: Format, seconds: float) -> str:
    mime = answer.mime
    known = not mime or _TEXT.match(mime) is not None
    if b"\0" in answer.body[:8_192] or not (known or _looks_like_text(answer.body)):
        raise ToolError(
            f"{answer.url} is {mime or 'data'} of {len(answer.body):,} bytes, not text. Save it "
            "to a file with a command such as curl if it is needed."
        )
    text = await asyncio.to_thread(_decode, answer)
    is_html = mime in _HTML or (
        not mime and text.lstrip()[:15].lower().startswith("<!doctype html")
    )
    if is_html and wanted != "html":
        return await _convert(text, answer.url, wanted, seconds)
    return text


def _looks_like_text(body: bytes) -> bool:
    try:
        body[:4_096].decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start > 4_000
    return True


def _decode(answer: WebResponse) -> str:
    meta = _META_CHARSET.search(answer.body[:4_096]) if answer.mime in _HTML else None
    named = answer.charset or (meta[1].decode("ascii") if meta else "")
    if named and named.lower() not in {"utf-8", "utf8"}:
        with contextlib.suppress(LookupError, UnicodeDecodeError):
            return answer.body.decode(named, "strict")
    return decode(answer.body).text


async def _convert(html: str, base: str, wanted: Format, seconds: float) -> str:
    """Convert the page in a process of its own, which can be stopped."""
    code = (
        f"import sys; sys.path.insert(0, {_ROOT!r}); "
        "from agent.tools.web.html_markdown import main; sys.exit(main())"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-c", code),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    page = f"{base}\n{wanted}\n{html}".encode("utf-8", "replace")
    try:
        async with asyncio.timeout(seconds):
            output, _ = await process.communicate(page)
    except TimeoutError:
        raise ToolError(
            f"The page at {base} took too long to be turned into text. Fetch it again with the "
            "format html, or save it with a command such as curl and search it."
        ) from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
        await process.wait()
    if process.returncode:
        raise ToolError(f"The page at {base} could not be turned into text. Try the format html.")
    return output.decode("utf-8", "replace")


def _result(call: FetchPlan, answer: WebResponse, text: str) -> Result:
    whole = encodable(text)
    text = without_invisible(whole)
    removed = len(whole) - len(text)
    notes: list[str] = []
    if answer.url != str(call.url):
        notes.append(f"Redirected to {answer.url}.")
    if answer.proxy:
        notes.append("Fetched through the proxy that the environment names.")
    if removed:
        notes.append(f"{removed:,} invisible characters were removed.")
    if not text.strip():
        notes.append("The page has no text; it may be drawn by scripts, which are not run.")
    shown = text[:MAX_SHOWN]
    is_markdown = call.format == "markdown" and answer.mime in {*_HTML, "text/markdown"}
    block: Block = TextBlock(shown, markdown=is_markdown)
    note = f"({' '.join(notes)})" if notes else ""
    return Result(
        "\n\n".join(part for part in (note, text) if part),
        label=ToolLabel("Fetch", str(call.url)),
        blocks=(block,) if shown.strip() else (),
        facts=(_size(len(answer.body)),),
    )


def _size(count: int) -> str:
    return f"{count} B" if count < 1024 else f"{count / 1024:,.0f} KB"
