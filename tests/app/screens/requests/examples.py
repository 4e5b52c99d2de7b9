"""Example requests for the dialogs: a permission request, a question, a trust question."""

from agent.mcp.forms import read_form
from agent.permission.programs.possible_effects import RUNS_PROJECT
from agent.permission.trust.project_files import ProjectFindings, ProjectProgram, SteeringSource
from agent.permission.trust.trust import TrustQuestion
from agent.records.blocks import Block, ShellBlock
from agent.records.requests import (
    EvaluatedNeed,
    PermissionNeed,
    PermissionRequest,
    Question,
    QuestionOption,
)


def request(
    request_id: str = "per_1",
    blocks: tuple[Block, ...] = (ShellBlock("npm run build\nrm -rf dist"),),
    always: tuple[tuple[str, str], ...] = (("bash", "npm run build *"),),
) -> PermissionRequest:
    needs = (
        EvaluatedNeed(PermissionNeed("bash", "npm run build"), "ask", RUNS_PROJECT),
        EvaluatedNeed(
            PermissionNeed("bash", "rm -rf dist", destructive=True),
            "ask",
            "can delete or overwrite data",
        ),
        EvaluatedNeed(PermissionNeed("external_directory", "/etc/x"), "ask", "outside the project"),
    )
    return PermissionRequest(
        id=request_id,
        session_id="ses_1",
        root_id="ses_1",
        message_id="msg_1",
        call_id="cal_1",
        agent="build",
        tool="bash",
        heading="Run this command?",
        folder="/home/me/shop",
        blocks=blocks,
        needs=needs,
        always=always,
        created=0.0,
    )


QUESTION = Question(
    "que_1",
    "ses_1",
    "ses_1",
    "Storage",
    "Where should the sessions be kept?\nBoth can be changed later.",
    (
        QuestionOption("SQLite", "one file, nothing to install"),
        QuestionOption("PostgreSQL", "a server that you already run"),
        QuestionOption("Neither"),
    ),
    agent="build",
)

FORM = Question(
    "que_2",
    "ses_1",
    "ses_1",
    "shop",
    "The MCP server shop asks: Which chair should it be?",
    (),
    agent="build",
    fields=read_form(
        {
            "properties": {
                "name": {"type": "string", "title": "Name", "minLength": 2, "default": "Bob"},
                "mail": {
                    "type": "string",
                    "title": "Email",
                    "format": "email",
                    "description": "for the invoice",
                },
                "legs": {"type": "integer", "title": "Legs", "minimum": 3, "maximum": 8},
                "wood": {"type": "string", "title": "Wood", "enum": ["oak", "pine", "木"]},
                "painted": {"type": "boolean", "title": "Painted", "default": False},
                "tools": {
                    "type": "array",
                    "title": "Tools",
                    "maxItems": 1,
                    "items": {
                        "anyOf": [
                            {"const": "saw", "title": "A saw"},
                            {"const": "glue", "title": "Glue"},
                        ]
                    },
                },
            },
            "required": ["legs", "wood"],
        }
    ),
)


EXAMPLE = TrustQuestion(
    folder="~/shop",
    found=ProjectFindings(
        runs=(
            ProjectProgram(
                kind="MCP server",
                name="docs",
                source="opencode.json",
                argv=("npx", "-y", "@acme/docs-mcp@1.4.0", "--root", "."),
                detail="DOCS_TOKEN={env:DOCS_TOKEN}",
            ),
            ProjectProgram(
                kind="model provider",
                name="lab",
                source="opencode.json",
                detail="http://10.0.0.7:8000/v1",
            ),
            ProjectProgram(
                kind="hook",
                name="PostToolUse",
                source=".claude/settings.json",
                argv=('./scripts/format.sh "$FILE"',),
            ),
            ProjectProgram(
                kind="allowed without asking",
                name="bash",
                source="opencode.json",
                detail="npm run *",
            ),
        ),
        steers=(
            SteeringSource("settings", "opencode.json: model"),
            SteeringSource("skill", ".claude/skills/release/SKILL.md"),
            SteeringSource("instructions", "AGENTS.md"),
        ),
    ),
    changed=("opencode.json",),
)
