"""Signs in the output of a failed command that the sandbox blocked it."""

import re

from agent.process.sandbox.policy import SandboxPolicy, has_network

LOOKED_AT = 20_000
"""Characters at the end of the output that are searched."""

READ_ONLY = re.compile(r"read-only file system|\bEROFS\b", re.IGNORECASE)

DENIED = re.compile(
    r"permission denied|operation not permitted|access is denied|\bEACCES\b|\bEPERM\b",
    re.IGNORECASE,
)

NETWORK = re.compile(
    r"network is (?:unreachable|down)|\bENETUNREACH\b|\bENETDOWN\b"
    r"|temporary failure in name resolution|could ?n[o']t resolve (?:host|proxy)"
    r"|unable to resolve|name or service not known|nodename nor servname|\bEAI_AGAIN\b"
    r"|\bENOTFOUND\b|failed to lookup address|dns error|no address associated"
    r"|connection refused|\bECONNREFUSED\b|failed to connect|could not connect"
    r"|cannot assign requested address|\bEADDRNOTAVAIL\b",
    re.IGNORECASE,
)

PRIVILEGE = re.compile(
    r"no new privileges|must be setuid root|effective uid is not 0|must be owned by uid 0",
    re.IGNORECASE,
)


def blocked(output: str, exit_code: int | None, policy: SandboxPolicy) -> str:
    """Return a sentence that says what the sandbox probably blocked, or "".

    For commands that failed: *output* of a command with exit code 0 proves nothing.
    """
    if exit_code == 0 or policy.level == "none":
        return ""
    text = output[-LOOKED_AT:]
    if PRIVILEGE.search(text):
        return "The sandbox blocked it: a command can't become another user."
    if READ_ONLY.search(text):
        return f"The sandbox blocked a write: {_writes(policy)}"
    if not has_network(policy) and NETWORK.search(text):
        return "The sandbox blocked the network, servers on this machine included."
    if DENIED.search(text):
        return f"The sandbox probably blocked it: {_writes(policy)} Credentials are hidden."
    return ""


def _writes(policy: SandboxPolicy) -> str:
    if policy.level == "read-only":
        return "the command can write nothing but its temporary folder."
    return f"only {', '.join(policy.writable)} can be written, except protected files inside."
