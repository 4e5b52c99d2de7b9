"""The profile of macOS's ``sandbox-exec``.

Everything is denied that is not allowed, and of rules that fit, the last one decides. Services that
start programs elsewhere, such as ``open`` and Apple events, are among what is denied.
"""

import os
from collections.abc import Iterable

from agent.process.sandbox.policy import SandboxPolicy, guarded, has_network, outermost, prepared
from agent.records.frozen import frozen

PROGRAM = "/usr/bin/sandbox-exec"

BASE = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow mach-priv-task-port (target same-sandbox))
(allow sysctl-read)
(allow user-preference-read)
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow mach-lookup
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.logd")
  (global-name "com.apple.PowerManagement.control")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow file-read*)
(allow file-write* file-ioctl
  (literal "/dev/null")
  (literal "/dev/zero")
  (literal "/dev/dtracehelper")
  (literal "/dev/ptmx")
  (regex #"^/dev/fd/(1|2)$")
  (regex #"^/dev/ttys[0-9]+$"))"""

NETWORK = """\
(allow network-outbound)
(allow network-inbound)
(allow network-bind)
(allow system-socket)
(deny network-outbound (remote unix-socket))
(allow network-outbound (literal "/private/var/run/mDNSResponder"))
(allow mach-lookup
  (global-name "com.apple.networkd")
  (global-name "com.apple.SystemConfiguration.configd")
  (global-name "com.apple.SystemConfiguration.DNSConfiguration")
  (global-name "com.apple.trustd.agent"))"""

RUN_IN_TEMPORARY = """\
folder=$(cd -P "$(mktemp -d "${TMPDIR:-/tmp}/opencode-py-XXXXXXXX")" && pwd) || exit 126
trap 'rm -rf "$folder"' EXIT
export TMPDIR="$folder" TMP="$folder" TEMP="$folder"
profile=$1
shift
/usr/bin/sandbox-exec -D "TEMPORARY=$folder" -p "$profile" "$@"
"""
"""A shell script that gives a command of level *read-only* its folder, and removes that."""


@frozen
class Seatbelt:
    """The sandbox of macOS."""

    def wrap(self, argv: tuple[str, ...], policy: SandboxPolicy, directory: str) -> tuple[str, ...]:
        """Return the command line that runs *argv* under *policy*."""
        text = profile(policy)
        if policy.level == "read-only":
            return ("/bin/sh", "-c", RUN_IN_TEMPORARY, "sandbox", text, *argv)
        return (PROGRAM, "-p", text, *argv)


def profile(policy: SandboxPolicy) -> str:
    """Return the rules for *policy*."""
    return "\n".join((BASE, *_rules(policy))) + "\n"


def _rules(policy: SandboxPolicy) -> Iterable[str]:
    writable: list[str] = []
    if policy.level == "read-only":
        yield '(allow file-write* (subpath (param "TEMPORARY")))'
    else:
        writable = sorted({os.path.realpath(prepared(path)) for path in policy.writable})
    for path in writable:
        yield f"(allow file-write* (subpath {_quoted(path)}))"
    for path in sorted({guarded(os.path.realpath(path)) for path in policy.protected}):
        root = outermost(path, writable)
        if root is None:
            continue
        yield f"(deny file-write* (subpath {_quoted(path)}))"
        # Without them, another folder could take the place of one above.
        parent = os.path.dirname(path)
        while parent != root and len(parent) > len(root):
            yield f"(deny file-write-unlink (literal {_quoted(parent)}))"
            parent = os.path.dirname(parent)
    for path in sorted({os.path.realpath(path) for path in policy.hidden}):
        yield f"(deny file-read* file-write* (subpath {_quoted(path)}))"
        for deeper in writable:
            if deeper.startswith(path + "/"):
                yield f"(allow file-read* file-write* (subpath {_quoted(deeper)}))"
    if has_network(policy):
        yield NETWORK


def _quoted(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
