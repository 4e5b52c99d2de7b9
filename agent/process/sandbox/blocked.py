"""Signs in the output of a failed command that the sandbox blocked it."""

import re

from agent.process.sandbox.policy import SandboxPolicy, below, has_network
from agent.records.patterns import lazy_pattern

LOOKED_AT = 20_000
"""Characters at the end of the output that are searched."""

READ_ONLY = lazy_pattern(r"read-only file system|\bEROFS\b|\bisn't writable", re.IGNORECASE)

BUSY = lazy_pattern(r"device or resource busy|\bEBUSY\b", re.IGNORECASE)
"""The error of a program that replaces a protected file."""

DENIED = lazy_pattern(
    r"^.*(?:permission denied|operation not permitted|access is denied|\bEACCES\b|\bEPERM\b).*$",
    re.IGNORECASE | re.MULTILINE,
)

NO_NETWORK = lazy_pattern(
    r"network is (?:unreachable|down)|\bENETUNREACH\b|\bENETDOWN\b"
    r"|temporary failure in name resolution|could ?n[o']t resolve (?:host|proxy)"
    r"|unable to resolve|name or service not known|nodename nor servname|\bEAI_AGAIN\b"
    r"|\bENOTFOUND\b|failed to lookup address|dns error|no address associated",
    re.IGNORECASE,
)

UNREACHED = lazy_pattern(
    r"connection refused|\bECONNREFUSED\b|failed to connect|could not connect"
    r"|cannot assign requested address|\bEADDRNOTAVAIL\b",
    re.IGNORECASE,
)
"""Also what a server that does not run looks like."""

SOCKET = lazy_pattern(
    r"^(?=.*(?:\bcan(?:no|')t\b|could ?n[o']t|unable|failed|denied|not permitted|refused))"
    r".*(?:\.sock(?![\w.-]*\w)|\bunix:|\bdocker daemon\b|\bssh-agent\b"
    r"|\bauthentication agent\b|\bgpg-agent\b|\bS\.gpg-agent\b|\bd-?bus\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""A Unix socket, by which Docker, agents for keys and desktops are reached."""

TERMINAL = lazy_pattern(
    r"pseudo-?(?:terminal|tty)|\bopenpty\b|/dev/ptmx|out of pty devices|forkpty", re.IGNORECASE
)

PRIVILEGE = lazy_pattern(
    r"no new privileges|must be setuid root|effective uid is not 0|must be owned by uid 0",
    re.IGNORECASE,
)

PATH = lazy_pattern(r"(?:(?<=[\s'\"`(‘:=])|^)(?:/|\.\./)[^\s'\"`()’:,]*")
"""A path in a message that is absolute, or leads out of the folder."""


def blocked(output: str, exit_code: int | None, policy: SandboxPolicy) -> str:
    """Return a sentence that says what the sandbox probably blocked, or "".

    For commands that failed: *output* of a command with exit code 0 proves nothing.
    """
    if exit_code == 0 or policy.level == "none":
        return ""
    text = output[-LOOKED_AT:]
    if PRIVILEGE.search(text):
        return "The sandbox blocked it: a command can't become another user."
    if SOCKET.search(text):
        return (
            "The sandbox probably blocked a socket of another program: Docker and key "
            "agents such as ssh-agent cannot be reached."
        )
    if TERMINAL.search(text):
        return "The sandbox probably blocked it: some sandboxes have no pseudo-terminals."
    if READ_ONLY.search(text):
        return f"The sandbox blocked a write: {_writes(policy)}"
    if not has_network(policy):
        if NO_NETWORK.search(text):
            return "The sandbox blocked the network, including servers on this machine."
        if UNREACHED.search(text):
            return (
                "The sandbox blocked the network, including servers on this machine, or the server "
                "is not running."
            )
    if policy.protected and BUSY.search(text):
        return "The sandbox probably blocked the replacement of a protected file."
    if any(_is_ours(match[0], policy) for match in DENIED.finditer(text)):
        return f"The sandbox probably blocked it: {_writes(policy)} Credentials are hidden."
    return ""


def _is_ours(line: str, policy: SandboxPolicy) -> bool:
    """Return whether the sandbox can be what denied the access that *line* is about."""
    if policy.level == "read-only":
        return True
    paths = [match[0] for match in PATH.finditer(line)]
    if not paths:  # a call of the kernel, or a file of the project whose mode is in the way
        return re.search(r"operation not permitted|\bEPERM\b", line, re.IGNORECASE) is not None
    return any(not _is_allowed(path, policy) for path in paths)


def _is_allowed(path: str, policy: SandboxPolicy) -> bool:
    writable = any(below(path, folder) for folder in policy.writable)
    return writable and not any(
        below(path, folder) for folder in (*policy.protected, *policy.hidden)
    )


def _writes(policy: SandboxPolicy) -> str:
    if policy.level == "read-only":
        return "the command can write only to its temporary folder."
    return f"only {', '.join(policy.writable)} can be written, except protected files inside."
