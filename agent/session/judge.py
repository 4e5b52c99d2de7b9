"""The judge of the permission mode ``judge``: a small model that decides on calls which would ask.

It reads the user's latest prompts and the call as the analysis sees it. Text of the call is data in
a JSON object, and only a response of exactly one form allows anything; everything else asks the
user. The calls that no judge can allow never get here (``agent.permission.judge_limits``).
"""

import asyncio
import dataclasses
import json
import logging
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence

from agent.bus import Bus
from agent.permission.rules import NETWORK
from agent.provider.client import TextContent, UserTurn
from agent.records.blocks import Block, DiffBlock, ShellBlock
from agent.records.decisions import Verdict, VerdictAnswer, explain_verdict, judge_name
from agent.records.errors import OpencodePyError
from agent.records.events import Notice
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.messages import TextPart, UserMessage
from agent.records.requests import PermissionRequest
from agent.records.sandbox import SandboxGrant
from agent.records.usage import Usage
from agent.session.prompt.templates import template
from agent.session.subagents.completions import NO_MODEL, Completions
from agent.store.store import Store
from agent.tools.core.tool import Completer, CompletionRequest
from agent.tools.files.diffs import is_whole

SECONDS = 20.0
"""The time limit of a verdict."""

MAX_OUTPUT = 200
"""Tokens that it can write: what does not fit is no verdict."""

MAX_PROMPTS = 3
"""The number of the user's prompts that it reads."""

MAX_PROMPT = 2_000
"""Characters of a prompt that it reads; the middle of a longer one is left out."""

MAX_CALL = 12_000
"""Characters of a call that it reads. It is not asked about a longer one."""

MAX_REASON = 200
"""Characters of its reason that are kept."""

MAX_ASKS = 3
"""Verdicts in a row that do not allow, after which it is not asked until the next prompt."""

PAGE = 50
"""Messages that are read at once to find the prompts."""

NO_JUDGE = (
    "The judge mode needs a small model, and there is none for this session: set `judge_model` or "
    "`small_model`. Until then it asks, like the mode ask."
)
PAUSED = "{name} did not allow {count} calls in a row, so you are asked until your next prompt"
TOO_LONG = "the call is too long to be judged"
NOT_WHOLE = "its changes are too long to be shown in full"

_ANSWERS: dict[str, VerdictAnswer] = {"allow": "allow", "ask": "ask"}
_FIELDS = frozenset({"verdict", "reason"})
_FENCE = re.compile(r"```(?:json)?\s*\n(.*)\n\s*```", re.DOTALL)

log = logging.getLogger(__name__)


@dataclasses.dataclass(slots=True)
class _Asks:
    """Verdicts in a row that did not allow, since the message *prompt*."""

    prompt: str = ""
    count: int = 0


@frozen
class Judges:
    """Makes the judges of sessions. *model* is the user's ``judge_model`` or ``small_model``."""

    completions: Completions
    store: Store
    bus: Bus
    model: str | None = None
    distrusted: Collection[str] = ()
    """The providers that the project defines: a project does not choose who judges its calls."""
    seconds: float = SECONDS
    asks: defaultdict[str, _Asks] = dataclasses.field(default_factory=lambda: defaultdict(_Asks))
    """The verdicts in a row that did not allow, by the root of a session tree."""
    notified: set[str] = dataclasses.field(default_factory=set[str])
    """The notices that the user has seen."""

    def for_session(
        self, session_id: str, model: str, spent: Callable[[Usage, float | None], None]
    ) -> "SessionJudge":
        """Return the judge of a session that works with *model*; *spent* gets the usage of each
        verdict."""
        return SessionJudge(self, session_id, model, spent)

    def model_for(self, model: str) -> str | None:
        """Return the judge of sessions that work with *model*, None if there is none."""
        if self.model == NO_MODEL:
            return None
        found = self.model or self.completions.catalog.small_model(model.partition("/")[0])
        return None if found is None or found.partition("/")[0] in self.distrusted else found


@frozen
class SessionJudge:
    """Judges the calls of one session, which works with the model *own*."""

    judges: Judges
    session_id: str
    own: str
    spent: Callable[[Usage, float | None], None]

    async def judge(self, request: PermissionRequest) -> Verdict:
        """Return the verdict on *request*. Everything that goes wrong is a verdict too."""
        model = self.judges.model_for(self.own)
        if model is None:
            self._notify_once(NO_JUDGE)
            return Verdict(answer="ask", reason="there is no small model")
        verdict = await self._verdict(request, model)
        what = "; ".join(one.need.pattern for one in request.needs if one.action == "ask")
        log.info("%s, %.200r: %s", request.session_id, what, explain_verdict(verdict))
        return verdict

    async def _verdict(self, request: PermissionRequest, model: str) -> Verdict:
        try:
            newest, prompts = await latest_prompts(self.judges.store, request.root_id)
            asks = self.judges.asks[request.root_id]
            if asks.prompt != newest:
                asks.prompt, asks.count = newest, 0
            if asks.count >= MAX_ASKS:
                reason = PAUSED.format(name=judge_name(model), count=MAX_ASKS)
                return Verdict(answer="ask", reason=reason)
            made = self.judges.completions.for_session(self.session_id, self.own, self.spent)
            completer = dataclasses.replace(made, model=model, purpose="verdicts")
            verdict = await judged(completer, request, prompts, self.judges.seconds)
        except OpencodePyError as error:  # the store, or a model that does not exist
            return Verdict(answer="none", model=model, reason=_one_line(error.message))
        if verdict.model:
            asks.count = 0 if verdict.answer == "allow" else asks.count + 1
        return verdict

    def _notify_once(self, sentence: str) -> None:
        if sentence not in self.judges.notified:
            self.judges.notified.add(sentence)
            self.judges.bus.publish(Notice(sentence, session_id=self.session_id))


async def latest_prompts(store: Store, root_id: str) -> tuple[str, list[str]]:
    """Return the id of the user's newest message in a session tree, and the texts of the last
    prompts, oldest first."""
    found: list[tuple[str, str]] = []
    before: str | None = None
    while len(found) < MAX_PROMPTS:
        page = await store.messages(root_id, before=before, limit=PAGE)
        for item in reversed(page):
            if isinstance(item.message, UserMessage) and not item.message.synthetic:
                texts = [p.text for p in item.parts if isinstance(p, TextPart) and not p.synthetic]
                found.append((item.message.id, "\n".join(texts)))
        if len(page) < PAGE:
            break
        before = page[0].message.id
    return found[0][0] if found else "", [text for _, text in reversed(found[:MAX_PROMPTS])]


async def judged(
    completer: Completer, request: PermissionRequest, prompts: Sequence[str], seconds: float
) -> Verdict:
    """Return the verdict of the *completer*'s model on *request*, given the user's *prompts*."""
    if any(isinstance(block, DiffBlock) and not is_whole(block) for block in request.blocks):
        return Verdict(answer="ask", reason=NOT_WHOLE)
    texts = _texts(request)
    call = json.dumps(_call(request, texts))  # every odd character escaped, so that it is seen
    if len(call) > MAX_CALL:
        return Verdict(answer="ask", reason=TOO_LONG)
    said = json.dumps([_shortened(each) for each in prompts], ensure_ascii=False)
    question = f'{{"user_prompts": {said}, "call": {call}}}'
    ask = CompletionRequest(
        system=template("judge"),
        turns=(UserTurn((TextContent(question),)),),
        max_output=MAX_OUTPUT,
        temperature=0.0,  # the same call gets the same verdict
    )
    try:
        async with asyncio.timeout(seconds):
            response = await completer.complete(ask)
    except TimeoutError:
        late = f"no response within {seconds:g} seconds"
        return Verdict(answer="none", model=completer.model, reason=late)
    except OpencodePyError as error:
        return Verdict(answer="none", model=completer.model, reason=_one_line(error.message))
    return parse_verdict(response, completer.model, "\n".join(texts), prompts)


def parse_verdict(response: str, model: str, call: str, prompts: Sequence[str] = ()) -> Verdict:
    """Return the verdict in *response*: one JSON object of exactly the form that was asked for.
    What is copied from the text of the *call* is none, and neither is one whose reason is copied
    from the *prompts*: the model gave none."""

    def none(reason: str) -> Verdict:
        return Verdict(answer="none", model=model, reason=reason)

    text = response.strip()
    if fenced := _FENCE.fullmatch(text):
        text = fenced[1].strip()
    try:
        found: Json = json.loads(text, object_pairs_hook=_distinct)
    except (ValueError, RecursionError):
        return none("its response is not a verdict")
    values = found if isinstance(found, dict) and found.keys() == _FIELDS else {}
    answer = _ANSWERS.get(str(values.get("verdict")))
    reason = values.get("reason")
    if answer is None or not isinstance(reason, str) or not reason.strip():
        return none("its response is not a verdict")
    if answer == "allow" and (text in call or reason.strip().casefold() in call.casefold()):
        return none("its response repeats text of the call")
    asked = " ".join("\n".join(prompts).split()).casefold()
    if answer == "allow" and " ".join(reason.split()).rstrip(".").casefold() in asked:
        return none("its reason repeats your prompt")
    return Verdict(answer=answer, model=model, reason=_one_line(reason).removesuffix("."))


def _distinct(pairs: list[tuple[str, Json]]) -> JsonObject:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("a key appears twice")
    return dict(pairs)


def _call(request: PermissionRequest, texts: Sequence[str]) -> JsonObject:
    """Return what the judge reads of a call."""
    needs: list[Json] = [
        {
            "permission": one.need.permission,
            "for": one.need.pattern,
            **({"shown": one.need.shown} if one.need.shown else {}),
            "verdict": one.action,
            "because": one.reason or one.need.reason,
            **({"network": True} if one.need.network or one.need.permission == NETWORK else {}),
        }
        for one in request.needs
    ]
    call: JsonObject = {
        "tool": request.tool,
        "question": request.heading,
        "folder": request.folder,
        "content": list(texts),
        "needs": needs,
    }
    if any(one.need.permission == "bash" for one in request.needs):
        call["sandbox"] = sandbox_text(request.sandbox)
    return call


def sandbox_text(grant: SandboxGrant | None) -> str:
    """Return in words what a command can do in its sandbox."""
    if grant is None or grant.level == "none":
        return "none: it can do everything that the user can"
    if grant.level == "read-only":
        return "it writes nothing and has no network"
    outside = f" and {', '.join(grant.folders)}" if grant.folders and grant.writes_outside else ""
    network = "has the network" if grant.network else "has no network"
    return f"it writes only in the project, temporary folders, caches{outside}, and {network}"


def _texts(request: PermissionRequest) -> list[str]:
    """Return the text of a call: its command, changed lines, or arguments."""
    return [_text(block) for block in request.blocks]


def _text(block: Block) -> str:
    marks = {"add": "+", "remove": "-", "context": " "}
    match block:
        case ShellBlock(command=command, directory=folder):
            return f"in {folder}: {command}" if folder else command
        case DiffBlock():
            moved = f" from {block.moved_from}" if block.moved_from else ""
            lines = (f"{marks[line.kind]}{line.text}" for h in block.hunks for line in h.lines)
            return "\n".join((f"{block.change} {block.path}{moved}", *lines))
        case _:
            values = dataclasses.asdict(block)
            return "\n".join(f"{key}: {value}" for key, value in values.items() if value)


def _shortened(text: str) -> str:
    if len(text) <= MAX_PROMPT:
        return text
    half = MAX_PROMPT // 2
    return f"{text[:half]} […] {text[-half:]}"


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_REASON else f"{line[: MAX_REASON - 1]}…"
