"""The built-in and configured agents, and the permission rules of each.

An agent is a name, a prompt and rules. The user chooses primary agents, the ``task`` tool starts
sub-agents, and hidden agents, which have no tools, are used by the program itself.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Literal, Protocol

from agent.config.loading import LoadedConfig
from agent.config.settings_schema import AgentConfig
from agent.permission.rules import DEFAULT, DEFAULT_RULES, Rule, evaluate, is_project_rule
from agent.records.errors import AgentNotFound
from agent.records.frozen import frozen
from agent.records.requests import Action, PermissionNeed
from agent.records.tool_facts import TOOL_FACTS, permission_of

Mode = Literal["primary", "subagent", "all", "hidden"]

DEFAULT_AGENT = "build"

BUILT_IN = "built in"
"""The source of an agent that no file configures."""

SUBAGENT_STEPS = 100
"""Steps of a sub-agent's turn; primary agents have no limit."""

PLAN_FILES = (".opencode-py/plans/*.md", ".opencode/plans/*.md")
"""The files that the plan agent can edit after a question, relative to the project."""


class RuleLike(Protocol):
    """A rule as the config package gives it, which cannot import this one."""

    @property
    def permission(self) -> str: ...
    @property
    def pattern(self) -> str: ...
    @property
    def action(self) -> Action: ...
    @property
    def source(self) -> str: ...
    @property
    def saved(self) -> bool: ...


@frozen
class AgentInfo:
    """An agent."""

    name: str
    description: str
    mode: Mode = "primary"
    color: str = "accent"
    """A role of the theme, or a hex value that the user gave."""
    prompt: str | None = None
    """Added to the model's own prompt, None for no addition."""
    model: str | None = None
    """Its model, None for the session's or its caller's."""
    effort: str | None = None
    """Its reasoning effort, None for the session's or its caller's."""
    temperature: float | None = None
    rules: tuple[Rule, ...] = ()
    max_steps: int | None = None
    """Steps of one turn, None without a limit."""
    worktree: bool = False
    """True if it works in a git worktree of its own as a sub-agent."""
    hidden: bool = False
    """True if it is in no list; it can still be called."""
    source: str = BUILT_IN
    """The files that configure it."""


def _rules(agent: str, *rules: tuple[str, str, Action]) -> tuple[Rule, ...]:
    return tuple(
        Rule(permission, pattern, action, f"agent {agent}") for permission, pattern, action in rules
    )


def _asks_unless_read_only(agent: str) -> Rule:
    """Return the rule that asks about commands that are not proven to only read."""
    return Rule("bash", "*", "ask", f"agent {agent}", cautious=True)


_EXPLORE_PROMPT = """\
You look things up in this project and report what you found. You change nothing.
Search first by name (glob), then by content (grep), then read the parts that matter.
Run independent look-ups together. Answer the question that was asked, give file paths
with line numbers for every claim, and say plainly what you could not find.
"""

_GENERAL_PROMPT = """\
You do one task on behalf of another agent and report back once. No one can answer you
while you work, so decide small things yourself and name those decisions in the report.
The report is all that is passed on: put the result, the changed files and open problems in it.
"""

BUILTIN_AGENTS: tuple[AgentInfo, ...] = (
    AgentInfo(DEFAULT_AGENT, "Does the work: reads, edits and runs commands."),
    AgentInfo(
        "plan",
        "Explores the project and writes a plan. Changes nothing but its plan file.",
        mode="all",
        color="plan",
        rules=(
            *_rules(
                "plan",
                ("edit", "*", "deny"),
                ("edit", PLAN_FILES[0], "ask"),
                ("edit", PLAN_FILES[1], "ask"),
            ),
            _asks_unless_read_only("plan"),
        ),
    ),
    AgentInfo(
        "general",
        "Carries out a multistep task on its own and reports the result.",
        mode="subagent",
        prompt=_GENERAL_PROMPT,
        max_steps=SUBAGENT_STEPS,
    ),
    AgentInfo(
        "explore",
        "Finds files, code and answers in the project. Read-only.",
        mode="subagent",
        prompt=_EXPLORE_PROMPT,
        rules=(*_rules("explore", ("edit", "*", "deny")), _asks_unless_read_only("explore")),
        max_steps=SUBAGENT_STEPS,
    ),
    *(
        AgentInfo(name, description, mode="hidden", rules=_rules(name, ("*", "*", "deny")))
        for name, description in (
            ("title", "Names a session."),
            ("summary", "Summarizes what a session changed."),
            ("compaction", "Summarizes a long conversation so that it can continue."),
        )
    ),
)


SUBAGENT_RULES = tuple(
    Rule(tool.permission, "*", "deny", "sub-agents")
    for tool in TOOL_FACTS.values()
    if not tool.for_subagents
)
"""Rules of every sub-agent: it starts no others, has no to-do list and asks the user nothing. Its
own rules can say otherwise."""


def builtin_agents() -> dict[str, AgentInfo]:
    """Return the built-in agents by name, in the order of lists."""
    return {agent.name: agent for agent in BUILTIN_AGENTS}


def rules_for(
    agent: AgentInfo, config: Iterable[RuleLike] = (), *, child: bool = False
) -> tuple[Rule, ...]:
    """Return the rules of *agent* in the order of evaluation; the last that matches decides.

    Defaults come first, then *config* (global before project), those of every *child* session, and
    the agent's own. The user's "always" answers come last; the permission service adds them.
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
    return Rule(rule.permission, rule.pattern, rule.action, rule.source, saved=rule.saved)


class Agents:
    """The agents of an opened folder: the built-in ones, as the settings change or extend them."""

    def __init__(self, loaded: LoadedConfig) -> None:
        self._loaded = loaded
        self._agents = builtin_agents()
        self._offered: dict[tuple[str, tuple[str, ...], tuple[str, ...]], frozenset[str]] = {}
        self._allowed_subagents: dict[tuple[str, tuple[str, ...]], frozenset[str]] = {}
        for name, given in loaded.config.agent.items():
            known = self._agents.get(name)
            if not given.disable:
                self._agents[name] = _changed(known, name, given, loaded)
            elif known is not None and known.mode != "hidden":
                del self._agents[name]
        if not self.primary():  # the user always has one to talk to
            self._agents |= {DEFAULT_AGENT: builtin_agents()[DEFAULT_AGENT]}

    def get(self, name: str) -> AgentInfo:
        """Return the agent *name*. Raises ``AgentNotFound`` with a list of the agents."""
        agent = self.find(name)
        if agent is None:
            known = ", ".join(info.name for info in self.primary())
            raise AgentNotFound(f"There is no agent named {name}. The agents are: {known}.")
        return agent

    def find(self, name: str) -> AgentInfo | None:
        """Return the agent *name*, None if there is none."""
        return self._agents.get(name)

    @property
    def max_depth(self) -> int:
        """The maximum depth of nested sub-agents."""
        return self._loaded.config.subagent_depth

    def listed(self) -> tuple[AgentInfo, ...]:
        """Return all that are not hidden, in order."""
        return tuple(a for a in self._agents.values() if a.mode != "hidden" and not a.hidden)

    def primary(self) -> tuple[AgentInfo, ...]:
        """Return the agents that the user can choose, in the order in which Tab cycles."""
        return tuple(a for a in self.listed() if a.mode in {"primary", "all"})

    def usable(self) -> tuple[AgentInfo, ...]:
        """Return all but those that only the program itself uses."""
        return tuple(a for a in self._agents.values() if a.mode != "hidden")

    def subagents(self) -> tuple[AgentInfo, ...]:
        """Return the agents that can be started as sub-agents."""
        return tuple(a for a in self._agents.values() if a.mode in {"subagent", "all"})

    def rules(self, name: str, *, child: bool = False) -> tuple[Rule, ...]:
        """Return the rules of agent *name* in the order of evaluation, without "always" answers.

        *child* is set when it works as a sub-agent.
        """
        return rules_for(self.get(name), self._loaded.rules, child=child)

    def offered_tools(
        self, name: str, tools: Iterable[str], callers: tuple[str, ...] = ()
    ) -> frozenset[str]:
        """Return those of *tools* that the agent is offered.

        Tools that it, or one of its *callers* (nearest first), is denied entirely are not, nor are
        those that are no use to it.
        """
        key = (name, tuple(tools), callers)
        if key not in self._offered:  # needed before each step, and the rules do not change
            sets = [self.rules(n, child=child) for n, child in lineage(name, callers)]
            shown = {t for t in key[1] if not any(_denied(t, rules) for rules in sets)}
            useful = {t for t in shown if self._is_of_use(t, name, callers)}
            self._offered[key] = frozenset(
                t for t in useful if not self._is_covered(t, useful, name, callers)
            )
        return self._offered[key]

    def _is_of_use(self, tool: str, name: str, callers: tuple[str, ...]) -> bool:
        facts = TOOL_FACTS.get(tool)
        if facts is None:
            return True
        if facts.permission == "task" and not (
            len(callers) < self.max_depth and self.allowed_subagents(name, callers)
        ):
            return False
        return facts.only_agent in {"", name}

    def _is_covered(
        self, tool: str, offered: Collection[str], name: str, callers: tuple[str, ...]
    ) -> bool:
        """Return whether another of the *offered* tools does the work of *tool*, and no rule names
        it."""
        facts = TOOL_FACTS.get(tool)
        return (
            facts is not None
            and facts.covered_by in offered
            and not any(
                rule.permission == tool and rule.source != DEFAULT
                for rule in self.rules(name, child=bool(callers))
            )
        )

    def allowed_subagents(self, name: str, callers: tuple[str, ...] = ()) -> frozenset[str]:
        """Return the sub-agents that the rules of the agent, and of its *callers* (nearest first),
        let it start."""
        key = (name, callers)
        if key not in self._allowed_subagents:  # like _offered
            sets = [self.rules(n, child=child) for n, child in lineage(name, callers)]
            self._allowed_subagents[key] = frozenset(
                agent.name
                for agent in self.subagents()
                if not any(_denies_subagent(agent.name, rules) for rules in sets)
            )
        return self._allowed_subagents[key]


def lineage(name: str, callers: tuple[str, ...]) -> tuple[tuple[str, bool], ...]:
    """Return the agent and its callers, nearest first, each with whether it works as a
    sub-agent."""
    names = (name, *callers)
    return tuple((one, place < len(callers)) for place, one in enumerate(names))


def _denied(tool: str, rules: Iterable[Rule]) -> bool:
    permission = permission_of(tool)
    last: Rule | None = None
    for rule in rules:
        if rule.cautious or not rule.concerns(permission):
            continue
        # A project's allow rule brings back no tool that a rule of the user's denies.
        loosens = is_project_rule(rule) and rule.action == "allow"
        if not (loosens and last is not None and not is_project_rule(last)):
            last = rule
    return last is not None and last.pattern == "*" and last.action == "deny"


def _denies_subagent(name: str, rules: tuple[Rule, ...]) -> bool:
    # Those of a project that is not trusted only tighten.
    need = PermissionNeed("task", name, default_action="allow")
    return evaluate(need, rules, trusted=True).action == "deny"


def _changed(
    known: AgentInfo | None, name: str, given: AgentConfig, loaded: LoadedConfig
) -> AgentInfo:
    """Return the agent *name* as the settings change it."""
    base = known or AgentInfo(name, "A custom agent.", mode="all")
    mode: Mode = base.mode
    if given.mode is not None and base.mode != "hidden":
        mode = given.mode
    return replace(
        base,
        description=given.description or base.description,
        mode=mode,
        worktree=given.worktree or base.worktree,
        hidden=given.hidden or base.hidden,
        color=given.color or base.color,
        prompt=given.prompt or base.prompt,
        model=given.model or base.model,
        effort=given.effort or base.effort,
        temperature=given.temperature if given.temperature is not None else base.temperature,
        rules=(*base.rules, *map(_rule, loaded.agent_rules.get(name, ()))),
        max_steps=given.steps if given.steps is not None else base.max_steps,
        source=loaded.source_of(f"agent.{name}.") or base.source,
    )
