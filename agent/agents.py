"""The built-in agents and the rules that hold for each (spec 4, M1 and M8).

An agent is a name, a prompt and rules. Primary agents are chosen by the user, sub-agents by
the ``task`` tool, hidden ones only by the harness (they have no tools).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from agent.config.loading import LoadedConfig
from agent.config.model import AgentConfig
from agent.permission.rules import DEFAULT_RULES, Rule, is_project, matches
from agent.records.errors import AgentNotFound
from agent.records.requests import Action

Mode = Literal["primary", "subagent", "all", "hidden"]

BUILT_IN = "built in"
"""Where an agent comes from that no file says anything of."""

SUBAGENT_STEPS = 100
"""Steps of a sub-agent's turn (spec 1, L2a); primary agents have no limit."""

PLAN_FILES = (".opencode-py/plans/*.md", ".opencode/plans/*.md")
"""The files that the plan agent may edit after a question, relative to the project."""


class RuleLike(Protocol):
    """A rule as the config room gives it: it may not import this one."""

    @property
    def permission(self) -> str: ...
    @property
    def pattern(self) -> str: ...
    @property
    def action(self) -> Action: ...
    @property
    def source(self) -> str: ...


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """*prompt* is added to the model's own prompt, None for no addition. *model* and *effort* are
    what it works with, None for the session's or its caller's. *max_steps* bounds one turn, None
    without a limit. *colour* is a role of the theme, or a hex value that the user gave. *hidden*
    ones are in no list, but may be called. *source* names the files that speak of it."""

    name: str
    description: str
    mode: Mode = "primary"
    colour: str = "accent"
    prompt: str | None = None
    model: str | None = None
    effort: str | None = None
    temperature: float | None = None
    rules: tuple[Rule, ...] = ()
    max_steps: int | None = None
    hidden: bool = False
    source: str = BUILT_IN


def _rules(agent: str, *rules: tuple[str, str, Action]) -> tuple[Rule, ...]:
    return tuple(
        Rule(permission, pattern, action, f"agent {agent}") for permission, pattern, action in rules
    )


def _reads_freely(agent: str) -> Rule:
    """A command that is not proven to only read is asked about, whatever the settings allow."""
    return Rule("bash", "*", "ask", f"agent {agent}", cautious=True)


_EXPLORE_PROMPT = """\
You look things up in this project and report what you found. You change nothing.
Search first by name (glob), then by content (grep), then read the parts that matter.
Run independent look-ups together. Answer the question that was asked, give file paths
with line numbers for every claim, and say plainly what you could not find.
"""

_GENERAL_PROMPT = """\
You do one task on behalf of another agent and report back once. Nobody can answer you
while you work, so decide small things yourself and name those decisions in the report.
The report is all that is passed on: put the result, the changed files and open problems in it.
"""

BUILTIN_AGENTS: tuple[AgentInfo, ...] = (
    AgentInfo("build", "Does the work: reads, edits and runs commands."),
    AgentInfo(
        "plan",
        "Looks and plans. Edits nothing but its plan file.",
        mode="all",
        colour="plan",
        rules=(
            *_rules(
                "plan",
                ("edit", "*", "deny"),
                ("edit", PLAN_FILES[0], "ask"),
                ("edit", PLAN_FILES[1], "ask"),
            ),
            _reads_freely("plan"),
        ),
    ),
    AgentInfo(
        "general",
        "Does a task of several steps on its own and reports the result.",
        mode="subagent",
        prompt=_GENERAL_PROMPT,
        max_steps=SUBAGENT_STEPS,
    ),
    AgentInfo(
        "explore",
        "Finds files, code and answers in the project. Read-only.",
        mode="subagent",
        prompt=_EXPLORE_PROMPT,
        rules=(*_rules("explore", ("edit", "*", "deny")), _reads_freely("explore")),
        max_steps=SUBAGENT_STEPS,
    ),
    *(
        AgentInfo(name, description, mode="hidden", rules=_rules(name, ("*", "*", "deny")))
        for name, description in (
            ("title", "Names a session."),
            ("summary", "Sums up what a session changed."),
            ("compaction", "Sums up a long conversation so that it can go on."),
        )
    ),
)


SUBAGENT_RULES = tuple(
    Rule(permission, "*", "deny", "sub-agents")
    for permission in ("task", "todowrite", "todoread", "question", "plan_exit")
)
"""By default a sub-agent starts no others, keeps no list and asks the user nothing (spec 3, S1);
its own rules may say otherwise."""


def builtin_agents() -> dict[str, AgentInfo]:
    """The agents that come with the program, by name, in the order they are listed."""
    return {agent.name: agent for agent in BUILTIN_AGENTS}


def rules_for(
    agent: AgentInfo, config: Iterable[RuleLike] = (), *, child: bool = False
) -> tuple[Rule, ...]:
    """The rules in force for *agent* in the order of M1; the last that matches decides.

    Defaults, then *config* (global before project), then those of every *child* session, then
    the agent's own. "Always" comes after, from the service.
    """
    return (
        *DEFAULT_RULES,
        *map(_rule, config),
        *(SUBAGENT_RULES if child else ()),
        *agent.rules,
    )


def _rule(rule: RuleLike) -> Rule:
    if isinstance(rule, Rule):
        return rule
    return Rule(rule.permission, rule.pattern, rule.action, rule.source)


EDIT_TOOLS = frozenset({"write", "edit", "multiedit", "apply_patch"})
"""Tools that the permission ``edit`` covers (spec 4, M4)."""

SHELL_TOOLS = frozenset({"bash_output", "bash_kill"})
"""Tools that are of use only with ``bash``."""

SUBAGENT_TOOLS = frozenset({"task_output"})
"""Tools that are of use only with ``task``."""


class Agents:
    """The agents of an opened folder: those built in, as the settings change or add to them."""

    def __init__(self, loaded: LoadedConfig) -> None:
        self._loaded = loaded
        self._agents = builtin_agents()
        self._offered: dict[tuple[str, tuple[str, ...], tuple[str, ...]], frozenset[str]] = {}
        for name, given in loaded.config.agent.items():
            if given.disable:
                self._agents.pop(name, None)
            else:
                self._agents[name] = _changed(self._agents.get(name), name, given, loaded)

    def get(self, name: str) -> AgentInfo:
        """The agent *name*. Raises ``AgentNotFound``, which lists what there is."""
        agent = self.find(name)
        if agent is None:
            known = ", ".join(info.name for info in self.primary())
            raise AgentNotFound(f"There is no agent named {name}. The agents are: {known}.")
        return agent

    def find(self, name: str) -> AgentInfo | None:
        """The agent *name*, None where there is none."""
        return self._agents.get(name)

    @property
    def depth(self) -> int:
        """How many sub-agents may stand below each other."""
        return self._loaded.config.subagent_depth

    def listed(self) -> tuple[AgentInfo, ...]:
        """All that are not hidden, in order."""
        return tuple(a for a in self._agents.values() if a.mode != "hidden" and not a.hidden)

    def primary(self) -> tuple[AgentInfo, ...]:
        """The agents that the user can choose, in the order in which Tab cycles."""
        return tuple(a for a in self.listed() if a.mode in {"primary", "all"})

    def usable(self) -> tuple[AgentInfo, ...]:
        """All but those that only the harness uses."""
        return tuple(a for a in self._agents.values() if a.mode != "hidden")

    def callable(self) -> tuple[AgentInfo, ...]:
        """The agents that can be started as sub-agents."""
        return tuple(a for a in self._agents.values() if a.mode in {"subagent", "all"})

    def rules(self, name: str, *, child: bool = False) -> tuple[Rule, ...]:
        """The rules in force for agent *name*, in the order of M1, without "always"; *child*
        when it works as a sub-agent."""
        return rules_for(self.get(name), self._loaded.rules, child=child)

    def offered(
        self, name: str, tools: Iterable[str], callers: tuple[str, ...] = ()
    ) -> frozenset[str]:
        """Those of *tools* that the agent is shown: not the ones that it, or one of its
        *callers* (nearest first), is denied outright."""
        key = (name, tuple(tools), callers)
        if key not in self._offered:  # asked before each step, and the rules stay
            sets = [self.rules(n, child=child) for n, child in lineage(name, callers)]
            shown = (t for t in key[1] if not any(_denied(t, rules) for rules in sets))
            self._offered[key] = frozenset(shown)
        return self._offered[key]


def lineage(name: str, callers: tuple[str, ...]) -> tuple[tuple[str, bool], ...]:
    """The agent and its callers, nearest first, each with whether it works as a sub-agent."""
    names = (name, *callers)
    return tuple((one, place < len(callers)) for place, one in enumerate(names))


def _denied(tool: str, rules: Iterable[Rule]) -> bool:
    permission = "edit" if tool in EDIT_TOOLS else "bash" if tool in SHELL_TOOLS else tool
    permission = "task" if tool in SUBAGENT_TOOLS else permission
    # What a project allows lifts no deny of the user's, so it does not bring a tool back.
    # What only tightens doesn't either.
    ours = (
        rule
        for rule in rules
        if not (rule.cautious or (is_project(rule) and rule.action == "allow"))
    )
    last = [rule for rule in ours if matches(permission, rule.permission)][-1:]
    return any(rule.pattern == "*" and rule.action == "deny" for rule in last)


def _changed(
    known: AgentInfo | None, name: str, given: AgentConfig, loaded: LoadedConfig
) -> AgentInfo:
    """The agent *name* with what the settings say of it."""
    base = known or AgentInfo(name, "An agent of your own.")
    mode: Mode = base.mode
    if given.mode is not None:
        mode = given.mode
    return replace(
        base,
        description=given.description or base.description,
        mode=mode,
        hidden=given.hidden or base.hidden,
        colour=given.color or base.colour,
        prompt=given.prompt or base.prompt,
        model=given.model or base.model,
        effort=given.effort or base.effort,
        temperature=given.temperature if given.temperature is not None else base.temperature,
        rules=(*base.rules, *map(_rule, loaded.agent_rules.get(name, ()))),
        max_steps=given.steps if given.steps is not None else base.max_steps,
        source=loaded.source_of(f"agent.{name}.") or base.source,
    )
