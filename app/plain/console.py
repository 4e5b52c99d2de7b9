"""``--plain``: the same service, line by line, with typed answers.

No screen is painted and no escape sequence is written: fit for screen readers, dumb terminals and
pipes.
"""

import asyncio
import signal
import sys
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from agent.custom_commands import find_command
from agent.records.amounts import money
from agent.records.errors import OpencodePyError, SessionNotFound
from agent.records.events import (
    Event,
    PermissionAsked,
    PermissionReplied,
    QuestionAsked,
    QuestionReplied,
    SessionIdle,
)
from agent.records.json import JsonObject
from agent.records.messages import Idle, Session
from agent.records.requests import (
    FormField,
    PermissionReply,
    PermissionRequest,
    Question,
    QuestionOption,
    QuestionReply,
)
from agent.session.api import PromptInput
from app.plain.commands import COMMANDS, SCREEN_ONLY, find_plain, screen_only
from app.plain.printer import Printer
from app.session_state.prompt_preparation import PromptPreparation
from app.session_state.session_facts import session_cost
from app.startup.launch import (
    LaunchOptions,
    load_runtime,
    named_session,
    resume_command,
    with_command,
)
from app.startup.logs import start_log

if TYPE_CHECKING:  # loads the agent package
    from agent.bus import Subscription
    from agent.permission.trust.trust import TrustAnswer, TrustQuestion
    from agent.runtime.runtime import Runtime


HELP = """\
Type a prompt and press enter; a line that ends with \\ continues on the next one.
/resume ID opens a session, /exit or ctrl+d exits. ctrl+c stops the agent.
!COMMAND runs a shell command and adds its output to the session."""


def help_text() -> str:
    """Return the help: a line for each command that is not explained in ``HELP``, and the reasons
    for those that are missing."""
    rows = (
        f"/{name} {command.argument}".rstrip() + f": {command.summary}"
        for name, command in COMMANDS.items()
    )
    missing = (f"{each.names}: {each.reason}." for each in SCREEN_ONLY)
    return "\n".join((HELP, *rows, "Not here, because they need the full screen:", *missing))


ANSWERS: Mapping[str, Literal["once", "always", "reject"]] = {
    **dict.fromkeys(("y", "yes", "o", "once"), "once"),
    **dict.fromkeys(("a", "always"), "always"),
    **dict.fromkeys(("n", "no", "r", "reject"), "reject"),
}

WITHOUT_SANDBOX = frozenset({"w", "without"})
"""Answers that allow a command once without the sandbox."""


class StdinLines:
    """The lines of standard input in the order of their arrival, then None.

    With *interactive*, someone types them: a line that came before a question was shown is the next
    prompt, not an answer to it.
    """

    def __init__(self, *, interactive: bool) -> None:
        self._interactive = interactive
        self._early: deque[str] = deque()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    def put(self, line: str | None) -> None:
        self._lines.put_nowait(line)

    async def next_prompt(self) -> str | None:
        """Return the next line that is not an answer, None at the end."""
        return self._early.popleft() if self._early else await self._lines.get()

    def begin_question(self) -> None:
        """Keep what has come so far from answering the question that is shown next."""
        while self._interactive and not self._lines.empty():
            line = self._lines.get_nowait()
            if line is None:
                self._lines.put_nowait(None)
                break
            self._early.append(line)

    async def next_answer(self) -> str | None:
        """Return the next line as the answer to the question; None from the end on."""
        line = await self._lines.get()
        if line is None:
            self._lines.put_nowait(None)
        return line


def read_lines(source: TextIO) -> StdinLines:
    """Return the lines of *source* as they come. A daemon thread reads them."""
    lines = StdinLines(interactive=source.isatty())
    loop = asyncio.get_running_loop()

    def put(line: str | None) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(lines.put, line)

    def read() -> None:
        for line in source:
            put(line.rstrip("\r\n"))
        put(None)

    threading.Thread(target=read, name="plain-input", daemon=True).start()
    return lines


def run_plain(launch: LaunchOptions, env: Mapping[str, str]) -> int:
    """Run until the input ends and return the exit code."""
    start_log(env)
    return asyncio.run(_run(launch, env))


async def _run(launch: LaunchOptions, env: Mapping[str, str]) -> int:
    printer, lines = Printer(sys.stdout), read_lines(sys.stdin)

    async def ask(question: "TrustQuestion") -> "TrustAnswer":
        return await ask_trust(question, printer, lines)

    # No user can reply through a pipe, so the folder is not trusted.
    load = partial(
        load_runtime,
        env=env,
        ask_trust=ask if sys.stdin.isatty() else None,
        wait_for_subagents=True,
    )
    runtime = await load(launch)
    if launch.worktree is not None:
        from agent.runtime.worktrees import open_worktree  # only with a worktree

        try:
            folder, notices = await open_worktree(runtime, launch.worktree, env)
        finally:
            await runtime.close()
        for notice in (f"Working in {folder}.", *notices):
            printer.line(notice)
        launch = replace(launch, directory=folder)
        runtime = await load(launch)
    plain = PlainConsole(runtime, launch, printer, lines, env, load)
    try:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, plain.interrupt)
        await plain.run()
    finally:
        await plain.runtime.close()
    return 0


async def ask_trust(
    question: "TrustQuestion", printer: Printer, lines: StdinLines
) -> "TrustAnswer":
    """Show what the folder would run and ask for yes or no; an empty line is "later"."""
    from app.screens.requests.trust import EXPLAINED, trust_text  # loads Textual

    lines.begin_question()
    printer.line(f"Do you trust {question.folder}?\n\n{trust_text(question).plain}\n\n{EXPLAINED}")
    while True:
        printer.line("yes or no? An empty line means no; you will be asked next time.")
        typed = await lines.next_answer()
        match (typed or "").strip().lower():
            case "y" | "yes":
                return "trust"
            case "n" | "no":
                return "refuse"
            case "":
                return "later"
            case _:
                pass


@dataclass(slots=True, eq=False)
class PlainConsole:
    """A conversation over *lines*."""

    runtime: "Runtime"
    launch: LaunchOptions
    printer: Printer
    lines: StdinLines
    env: Mapping[str, str]
    load: Callable[[LaunchOptions], Awaitable["Runtime"]]
    """Opens the folder that options name."""
    _session: Session | None = field(default=None, init=False)
    _subscription: "Subscription | None" = field(default=None, init=False)
    _stopping: asyncio.Event = field(default_factory=asyncio.Event, init=False)
    _preparation: PromptPreparation = field(default_factory=PromptPreparation, init=False)

    async def run(self) -> None:
        self.runtime.mcp.start()
        for notice in self.runtime.notices:
            self.printer.line(notice)
        session = await named_session(self.runtime.sessions.repository, self.launch)
        if session is not None:
            await self.open(session)
        self.printer.line(f"opencode-py in {self.launch.directory}. /help lists the commands.")
        await self._print_status()
        if self.launch.prompt:
            await self.send(self.launch.prompt)
        while not self._stopping.is_set():
            self.printer.line(">")
            text = await self._read()
            if text is None or text.strip() in {"/exit", "/quit", "/q", "exit", "quit", ":q"}:
                break
            try:
                await self._run_line(text.strip())
            except OpencodePyError as error:
                self.printer.line(error.message)
        if self._session is not None:
            command = resume_command(self._session.id, "--plain")
            self.printer.line(with_command("To continue:", command))

    def interrupt(self) -> None:
        """Handle Ctrl+C: stop the running turn or loop or the preparation of a prompt, else
        exit."""
        if self._preparation.stop():
            return
        session = self._session
        repeats = session is not None and self.runtime.sessions.repeated_prompts.forget(session.id)
        if session is not None and not isinstance(self.runtime.sessions.status(session.id), Idle):
            asyncio.get_running_loop().create_task(self.runtime.sessions.cancel(session.id))
        elif not repeats:
            self._stopping.set()
            self.lines.put(None)

    async def _read(self) -> str | None:
        """Return the next prompt, joining lines that end with a backslash."""
        text = ""
        while True:
            line = await self.lines.next_prompt()
            if line is None:
                return text or None
            if not line.endswith("\\"):
                return text + line
            text += line[:-1] + "\n"

    async def open(self, session: Session) -> None:
        from agent.runtime.worktrees import worktree_of_session  # loaded with the runtime

        here = (self.runtime.paths, self.runtime.store, self.runtime.directory)
        folder = await worktree_of_session(*here, session.id)
        if folder is not None:
            self.printer.line(f"Working in {folder}.")
            await self._go_to(folder)
        if self._subscription is not None:
            self._subscription.close()
        self._subscription, snapshot = await self.runtime.sessions.attach(session.id)
        self._session = snapshot.session
        self.printer.line(f"Session {session.id}: {session.title or 'new'}")

    async def start_over(self, folder: Path | None = None) -> None:
        if folder is not None:
            self.printer.line(f"Working in {folder}.")
            await self._go_to(folder)
        self._session = None

    async def _go_to(self, folder: Path) -> None:
        """Open *folder*, a worktree, in place of the open one."""
        before, self.launch = self.runtime, replace(self.launch, directory=folder)
        self.runtime = await self.load(self.launch)
        if self._subscription is not None:
            self._subscription.close()
            self._subscription = None
        await before.close()
        self.runtime.mcp.start()

    async def _run_line(self, text: str) -> None:
        """Run one line of the user's: a command or a prompt."""
        name, _, argument = text.partition(" ")
        argument = argument.strip()
        repository = self.runtime.sessions.repository
        match name:
            case "":
                pass
            case "/help":
                self.printer.line(help_text())
            case "/resume" | "/continue":
                session = await repository.get(argument) if argument else await repository.latest()
                if session is not None:
                    await self.open(session)
            case _ if command := find_plain(name):
                await command.run(self, argument)
                await self._refresh()
            case _ if text.startswith("!") and text[1:].strip():
                await self.run_shell(text[1:].strip())
            case _ if await self._is_command(name):
                await self.run_command(name[1:], argument)
            case _ if missing := screen_only(name):
                self.printer.line(f"There is no command {name} here: {missing.reason}.")
            case _ if name.startswith("/") and name[1:].isalnum():
                self.printer.line(f"There is no command {name} here. /help lists them.")
            case _:
                await self.send(text)

    async def _refresh(self) -> None:
        """Read the open session again; none is open once it is deleted."""
        if self._session is not None:
            try:
                self._session = await self.runtime.sessions.repository.get(self._session.id)
            except SessionNotFound:
                self._session = None

    @property
    def session(self) -> Session | None:
        return self._session

    @property
    def model(self) -> str:
        chosen = self._session.model if self._session is not None else None
        return chosen or self.launch.model or self.runtime.catalog.default_model()

    @property
    def agent(self) -> str:
        chosen = self._session.agent if self._session is not None else self.launch.agent
        return chosen or self.runtime.config.config.default_agent

    def say(self, text: str) -> None:
        self.printer.line(text)

    async def ask(self, question: str) -> str:
        self.lines.begin_question()
        self.printer.line(question)
        return await self.lines.next_answer() or ""

    async def interruptible(self, work: Coroutine[object, object, str]) -> str:
        return await self._preparation.run(work)

    async def ask_trust(self, question: "TrustQuestion") -> "TrustAnswer":
        return await ask_trust(question, self.printer, self.lines)

    async def follow(self, work: Awaitable[object]) -> None:
        """Start *work* in the open session and print what happens until it is over."""
        session, subscription = self._session, self._subscription
        assert session is not None  # of the callers
        assert subscription is not None  # every session here is attached
        await work
        await self._print_events(session, subscription)

    async def follow_until(self, ended: Coroutine[object, object, None]) -> None:
        """Print what happens in the open session, which is attached, until *ended* returns."""
        session, subscription = self._session, self._subscription
        assert session is not None  # of the callers
        assert subscription is not None  # every session here is attached

        async def print_all() -> None:
            while True:
                await self._print_events(session, subscription)

        printing = asyncio.create_task(print_all(), name="printing events")
        waiting = asyncio.create_task(ended, name="waiting for the end")
        try:
            await asyncio.wait({printing, waiting}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            printing.cancel()
            waiting.cancel()
            await asyncio.wait({printing, waiting})
        for event in subscription.drain():
            self.printer.show(event)
        await self._print_status()

    async def run_shell(self, command: str) -> None:
        session = await self.ensure_session()
        self.printer.show_outputs = True
        try:
            await self.follow(self.runtime.sessions.user_shell.start(session.id, command))
        finally:
            self.printer.show_outputs = False

    async def ensure_session(self) -> Session:
        if self._session is None:
            session = await self.runtime.sessions.repository.create(
                agent=self.launch.agent or self.runtime.config.config.default_agent,
                model=self.launch.model,
                effort=self.launch.effort,
            )
            await self.open(session)
            return session
        return self._session

    async def _is_command(self, name: str) -> bool:
        known = await self.runtime.commands.all() if name.startswith("/") else ()
        return find_command(known, name[1:]) is not None

    async def run_command(self, name: str, argument: str) -> None:
        """Send the prompt of a user's slash command, after asking for its permissions."""
        session = await self.ensure_session()

        def is_own_request(event: Event) -> bool:
            return isinstance(event, PermissionAsked) and event.request.root_id == session.id

        async def answer(requests: "Subscription") -> None:
            async for event in requests:
                if isinstance(event, PermissionAsked):
                    await self._ask_permission(event.request)

        with self.runtime.bus.subscribe(is_own_request) as requests:
            answering = asyncio.create_task(answer(requests), name="answering")
            try:
                base = PromptInput(text=f"/{name} {argument}".strip())
                prompt = await self._preparation.run(
                    self.runtime.commands.prompt(name, argument, session, base)
                )
            finally:
                answering.cancel()
        await self.send(prompt)

    async def send(self, given: str | PromptInput) -> None:
        """Send a prompt and print what happens until the turn is over."""
        session = await self.ensure_session()
        await self.runtime.mcp.wait_until_tried()
        for sentence in self.runtime.mcp.missing():
            self.printer.line(sentence)
        subscription = self._subscription
        assert subscription is not None  # every session here is attached
        prompt = PromptInput(text=given) if isinstance(given, str) else given
        message_id = await self.runtime.sessions.prompt(session.id, prompt)
        self.printer.skip_message(message_id)
        await self._print_events(session, subscription)

    async def _print_events(self, session: Session, subscription: "Subscription") -> None:
        """Print what happens, and ask what is asked, until the turn of *session* is over."""
        async for event in subscription:
            self.printer.show(event)
            if isinstance(event, PermissionAsked):
                await self._ask_permission(event.request)
            elif isinstance(event, QuestionAsked):
                await self._ask_question(event.question)
            elif isinstance(event, SessionIdle) and event.session_id == session.id:
                await self._print_status()
                return

    async def _print_status(self) -> None:
        """Print the next prompt's agent and model, the permission mode, the session's cost."""
        await self._refresh()
        self.printer.line(
            f"Agent {self.agent}, model {self.model}, mode {self.runtime.permissions.mode}, "
            f"cost {money(session_cost(self._session))}."
        )

    async def _ask_permission(self, request: PermissionRequest) -> None:
        """Ask for permission until there is an answer, or until the request is withdrawn."""
        pending = [r.id for r in self.runtime.permissions.pending(request.root_id)]
        if request.id not in pending:
            return
        self.lines.begin_question()
        self.printer.show_permission(request, len(pending))
        always = ", a always" if request.always else ""
        while True:
            self.printer.line(
                f"y once{always} or n reject? Add a comment for the model after a colon."
            )
            typed = await self._read_answer(request)
            if typed is None:
                return
            # Without the colon, "a test is missing" would be an answer.
            word, _, comment = typed.partition(":")
            word = word.strip().lower()
            leaves = request.can_leave_sandbox and word in WITHOUT_SANDBOX
            answer = "once" if leaves else ANSWERS.get(word)
            if answer is not None and (answer != "always" or request.always):
                reply = PermissionReply(answer, comment.strip(), unsandboxed=leaves)
                self.runtime.permissions.reply(request.id, reply)
                return

    async def _ask_question(self, question: Question) -> None:
        """Ask a question of the ``question`` tool: numbers choose options, text answers."""
        service = self.runtime.questions
        if question.id not in {held.id for held in service.pending(question.root_id)}:
            return
        self.lines.begin_question()
        self.printer.show_question(question)
        reply = await (self._form(question) if question.fields else self._reply_to(question))
        if reply is not None:
            service.reply(question.id, reply)

    async def _reply_to(self, question: Question) -> QuestionReply | None:
        """Return the user's reply, None if the question is withdrawn."""
        while True:
            typed = await self._read_answer(question)
            if typed is None:
                return None
            if typed.strip() == "/skip":
                return QuestionReply(dismissed=True)
            reply = parse_question_reply(question.options, typed, multiple=question.multiple)
            if reply is not None:
                return reply

    async def _form(self, question: Question) -> QuestionReply | None:
        """Ask for a form field by field; return None if it is withdrawn."""
        values: JsonObject = {}
        for form_field in question.fields:
            self.printer.show_field(form_field)
            answer = await self._field(question, form_field)
            if not isinstance(answer, dict):
                return answer
            values |= answer
        return QuestionReply(values=values)

    async def _field(
        self, question: Question, form_field: FormField
    ) -> JsonObject | QuestionReply | None:
        """Return an object with the value of a field, empty if it is left out; or the reply that
        ends the form, None if it is withdrawn."""
        from agent.mcp.forms import form_problems, form_values  # reads JSON schemas

        options = tuple(QuestionOption(label) for label in form_field.choices)
        while True:
            typed = await self._read_answer(question)
            if typed is None:
                return None
            if typed.strip() in {"/skip", "/decline"}:
                declined = typed.strip() == "/decline"
                return QuestionReply(dismissed=not declined, declined=declined)
            reply = parse_question_reply(options, typed, multiple=form_field.multiple)
            words = tuple(typed.split(",")) if options else (typed,)
            given = (reply.labels or words) if reply is not None else form_field.default
            values = form_values([(form_field, given)])
            wrong = form_problems((form_field,), values)
            if not wrong:
                return values
            self.printer.line(f"Not valid: {wrong[form_field.name]}.")

    async def _read_answer(self, request: PermissionRequest | Question) -> str | None:
        """Return the next line, None for a withdrawn request. The end of input rejects."""
        line = asyncio.create_task(self.lines.next_answer())
        gone = asyncio.create_task(_withdrawn(self.runtime, request))
        try:
            await asyncio.wait({line, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not line.done():
                return None
            typed = line.result()
            if typed is None:
                return "reject" if isinstance(request, PermissionRequest) else "/skip"
            return typed
        finally:
            line.cancel()
            gone.cancel()


def parse_question_reply(
    options: Sequence[QuestionOption], typed: str, *, multiple: bool
) -> QuestionReply | None:
    """Return the reply that *typed* gives: numbers of options (one, or with *multiple* several), or
    other text. None for an empty line."""
    words = typed.replace(",", " ").split()
    numbers = [int(word) for word in words if word.isdecimal()]
    known = all(0 < number <= len(options) for number in numbers)
    most = len(options) if multiple else 1
    if words and len(numbers) == len(words) and known and len(words) <= most:
        return QuestionReply(tuple(options[n - 1].label for n in dict.fromkeys(numbers)))
    return QuestionReply(text=typed.strip()) if words else None


async def _withdrawn(runtime: "Runtime", request: PermissionRequest | Question) -> None:
    """Return once *request* was answered or withdrawn elsewhere."""

    def is_reply(event: Event) -> bool:
        match event:
            case PermissionReplied(request_id=over) | QuestionReplied(question_id=over):
                return over == request.id
            case _:
                return False

    with runtime.bus.subscribe(is_reply) as replies:
        pending = (
            *runtime.permissions.pending(request.root_id),
            *runtime.questions.pending(request.root_id),
        )
        if request.id in {held.id for held in pending}:
            await replies.wait()
