"""A pytest plugin that runs the collected tests against mutants: ``-p bench.mutants``.

The tests are collected once. A first child process records which test calls which of the changed
functions. Then each mutant gets its own child, in which the changed code replaces the real function
and the tests that call it run, fastest first, until one fails.
"""

import ast
import importlib
import inspect
import json
import os
import resource
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, Literal

import pytest

Outcome = Literal["killed", "endless", "survived", "not reached"]

_SECONDS = 60
"""CPU seconds for a mutant in addition to three times what its tests take."""
_BROKEN = 9
"""Exit code of a child whose mutant does not compile to a function."""
_MEMORY = 4 << 30
"""Bytes of address space for a mutant: stops one that appends to a list forever."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A changed function: *owner* is its class, empty for none; *source* the changed text."""

    name: str
    module: str
    owner: str
    function: str
    source: str

    @property
    def place(self) -> tuple[str, str, str]:
        return self.module, self.owner, self.function


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--mutants", help="JSON file: the mutants")
    parser.addoption("--outcomes", help="JSON file to write: what became of each")
    parser.addoption("--children", type=int, default=1, help="mutants that are tried at once")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--mutants"):
        config.pluginmanager.register(_Trial(), "mutants-trial")


class _Trial:
    """Replaces pytest's loop over the tests."""

    def __init__(self) -> None:
        self.failed: Callable[[], None] = lambda: None

    @pytest.hookimpl
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed()

    @pytest.hookimpl
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("the tests cannot be collected")
        plan = str(session.config.getoption("--mutants"))
        mutants = [Mutant(**each) for each in json.loads(Path(plan).read_text())]
        # Created before the children, which would otherwise delete the folders of each other.
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        reaching = self._reaching(session.items, sorted({each.place for each in mutants}))
        outcomes = self._outcomes(session, mutants, reaching)
        Path(str(session.config.getoption("--outcomes"))).write_text(json.dumps(outcomes))
        return True

    def _reaching(
        self, items: Sequence[pytest.Item], places: Sequence[tuple[str, str, str]]
    ) -> dict[tuple[str, str, str], list[tuple[float, int]]]:
        """Return, for each of *places*, the tests that call it, by CPU seconds and index."""
        come, go = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(come)
            self.failed = lambda: os._exit(1)
            seen = _watched(items, {_function(*place).__code__: place for place in places})
            with os.fdopen(go, "w") as file:
                json.dump(seen, file)
            os._exit(0)
        os.close(go)
        with os.fdopen(come) as file:
            text = file.read()
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            raise pytest.UsageError("a test fails without any change: run the tests first")
        found: dict[tuple[str, str, str], list[tuple[float, int]]] = {}
        for at, (took, called) in enumerate(json.loads(text)):
            for place in called:
                found.setdefault((place[0], place[1], place[2]), []).append((took, at))
        return found

    def _outcomes(
        self,
        session: pytest.Session,
        mutants: Sequence[Mutant],
        reaching: dict[tuple[str, str, str], list[tuple[float, int]]],
    ) -> dict[str, Outcome]:
        outcomes: dict[str, Outcome] = {}
        running: dict[int, str] = {}
        children = int(str(session.config.getoption("--children")))
        for mutant in mutants:
            tests = sorted(reaching.get(mutant.place, []))
            if not tests:
                outcomes[mutant.name] = "not reached"
                continue
            if len(running) >= children:
                _collect(running, outcomes)
            child = os.fork()
            if child == 0:
                self._child(session.items, mutant, tests)
            running[child] = mutant.name
        while running:
            _collect(running, outcomes)
        return outcomes

    def _child(
        self, items: Sequence[pytest.Item], mutant: Mutant, tests: Sequence[tuple[float, int]]
    ) -> None:
        """Run the tests and exit: 0 if no test failed, 1 if one did. Never returns."""
        code = _BROKEN
        try:
            _take_place(mutant)
            code = 1
            seconds = int(_SECONDS + 3 * sum(took for took, _ in tests))
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
            self.failed = lambda: os._exit(1)
            with Path(os.devnull).open("w") as nothing:
                for stream in (1, 2):
                    os.dup2(nothing.fileno(), stream)
            for _, at in tests:
                _run(items[at])
            code = 0
        finally:
            os._exit(code)


def _collect(running: dict[int, str], outcomes: dict[str, Outcome]) -> None:
    child, status = os.wait()
    code = os.waitstatus_to_exitcode(status)
    if code == _BROKEN:
        raise pytest.UsageError(f"{running[child]} cannot take the place of its function")
    name = running.pop(child)
    outcomes[name] = "killed" if code > 0 else "endless" if code else "survived"
    sign = "." if outcomes[name] in ("killed", "endless") else "S"
    print(sign, end="", file=sys.stderr, flush=True)


def _run(item: pytest.Item) -> None:
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)


def _watched(
    items: Sequence[pytest.Item], places: dict[CodeType, tuple[str, str, str]]
) -> list[tuple[float, list[tuple[str, str, str]]]]:
    """Return, for each test, how long it took and which of *places* it called, in any thread."""
    called: set[tuple[str, str, str]] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and (place := places.get(frame.f_code)):
            called.add(place)

    found: list[tuple[float, list[tuple[str, str, str]]]] = []
    for item in items:
        called.clear()
        before = sum(os.times()[:4])
        threading.setprofile(note)
        sys.setprofile(note)
        _run(item)
        sys.setprofile(None)
        found.append((sum(os.times()[:4]) - before, sorted(called)))
    return found


def _function(module: str, owner: str, name: str) -> FunctionType:
    """Return the plain function under a method wrapper."""
    holder: Any = importlib.import_module(module)
    for part in filter(None, owner.split(".")):
        holder = getattr(holder, part)
    found = inspect.getattr_static(holder, name)
    return getattr(found, "__func__", found)


def _take_place(mutant: Mutant) -> None:
    """Put the code of *mutant* into the function object that everyone references."""
    real = _function(*mutant.place)
    tree = ast.parse(mutant.source)
    if mutant.owner:
        # In a class again, for code that names its own class or its superclass.
        tree.body = [ast.ClassDef("Owner", [], [], tree.body, [])]
    space = dict(real.__globals__)
    exec(compile(ast.fix_missing_locations(tree), real.__code__.co_filename, "exec"), space)
    made: Any = space["Owner"].__dict__[mutant.function] if mutant.owner else space[mutant.function]
    made = getattr(made, "__func__", made)
    real.__code__ = made.__code__
    real.__defaults__, real.__kwdefaults__ = made.__defaults__, made.__kwdefaults__
