"""The protocol's own conformance suite for clients, if ``make conformance`` has installed it.

It serves each scenario at a port of this machine and watches what ``conformance.py`` does there.
"""

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SUITE = Path(os.environ.get("MCP_CONFORMANCE", ROOT / "build" / "conformance")) / "node_modules"
PROGRAM = SUITE / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
OWN = SUITE / "node" / "bin" / "node"
NODE = str(OWN) if OWN.is_file() else shutil.which("node")

MAX_MILLISECONDS = 60_000
"""Milliseconds for our side of a scenario."""

SCENARIOS = (
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "request-metadata",
    "auth/metadata-default",
    "auth/metadata-var1",
    "auth/metadata-var2",
    "auth/metadata-var3",
    "auth/basic-cimd",
    "auth/scope-from-www-authenticate",
    "auth/scope-from-scopes-supported",
    "auth/scope-omitted-when-undefined",
    "auth/scope-step-up",
    "auth/scope-retry-limit",
    "auth/token-endpoint-auth-basic",
    "auth/token-endpoint-auth-post",
    "auth/token-endpoint-auth-none",
    "auth/pre-registration",
    "auth/2025-03-26-oauth-metadata-backcompat",
    "auth/2025-03-26-oauth-endpoint-fallback",
    "auth/resource-mismatch",
    "auth/offline-access-scope",
    "auth/offline-access-not-supported",
    "auth/authorization-server-migration",
    "auth/client-credentials-basic",
    "auth/dpop",
    "auth/dpop-nonce",
    "auth/iss-supported",
    "auth/iss-not-advertised",
    "auth/iss-supported-missing",
    "auth/iss-wrong-issuer",
    "auth/iss-unexpected",
    "auth/iss-normalized",
    "auth/metadata-issuer-mismatch",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
    "sep-2640-client-no-prefetch",
    "sep-2640-client-verify-digest",
    "sep-2640-client-verify-size",
    "sep-2640-client-verify-frontmatter",
)

MACHINES = "a login with a signed statement: keys of machines and companies are not kept here"
EXTENSIONS = {
    "auth/client-credentials-jwt": MACHINES,
    "auth/enterprise-managed-authorization": MACHINES,
    "auth/wif-jwt-bearer": MACHINES,
}
"""Those that fail, each for the reason that it says."""

pytestmark = [
    pytest.mark.skipif(not PROGRAM.is_file(), reason="make conformance has not fetched the suite"),
    pytest.mark.skipif(NODE is None, reason="node is not installed"),
]


@pytest.mark.parametrize(
    "scenario",
    [
        *SCENARIOS,
        *(
            pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=reason))
            for name, reason in EXTENSIONS.items()
        ),
    ],
)
async def test_a_scenario(scenario: str, tmp_path: Path) -> None:
    assert NODE is not None
    ours = f"{sys.executable} -m tests.agent.mcp.conformance"
    words = ["client", "--command", ours, "--scenario", scenario]
    process = await asyncio.create_subprocess_exec(
        *(NODE, str(PROGRAM), *words, "--timeout", str(MAX_MILLISECONDS), "-o", str(tmp_path)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
    )
    output, _ = await process.communicate()
    assert process.returncode == 0, output.decode()[-4_000:]
