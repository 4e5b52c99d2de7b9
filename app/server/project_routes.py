"""The endpoints of a folder: its settings, agents, models, files, servers and open requests."""

import asyncio
import base64
import mimetypes
import os
from collections.abc import Iterator
from pathlib import Path

from starlette.requests import Request

from agent.agents import AgentInfo
from agent.custom_commands import CommandInfo
from agent.lsp.connection import LspStatus
from agent.mcp.records import ServerStatus
from agent.provider.client import ModelInfo, Price
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.records.requests import PermissionReply, Question, QuestionReply
from agent.runtime.folder_controls import McpChange
from agent.runtime.local_controls import LocalControls
from agent.runtime.runtime import Runtime
from agent.tools.search.searcher import Searcher, find_rg
from agent.tools.search.worker import SearchRequest
from agent.transfer import opencode_shapes as shapes
from app.server.answers import (
    DirectoryAnswer,
    FileContent,
    FileNode,
    FormatterAnswer,
    LspAnswer,
    McpAnswer,
    PathAnswer,
    PermissionAnswer,
    ProjectAnswer,
    QuestionAnswer,
    SkillAnswer,
)
from app.server.bodies import (
    PermissionReplyBody,
    PermissionResponseBody,
    QuestionReplyBody,
    read_body,
)
from app.server.endpoint import Endpoint
from app.server.errors import RequestError
from app.server.folders import Folders, PrivateFiles, resolved_inside

TEXT: JsonObject = {"type": "string"}
FLAG: JsonObject = {"type": "string", "enum": ["true", "false"]}
KIND: JsonObject = {"type": "string", "enum": ["file", "directory"]}

MAX_FILE = 5_000_000
"""Bytes of a file whose content is sent."""

MAX_MATCHES = 100
"""Matches of a text search, as ripgrep gives them."""


@frozen
class ProjectRoutes:
    """Settings, models, files and requests of the folders that clients name."""

    folders: Folders

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint("GET", "/path", "The folders in use", self.paths, PathAnswer),
            Endpoint("GET", "/project", "The open projects", self.projects, list[ProjectAnswer]),
            Endpoint(
                "GET",
                "/project/current",
                "The project of the folder",
                self.project,
                ProjectAnswer,
            ),
            Endpoint(
                "GET",
                "/project/{project}/directories",
                "The open folders of a project",
                self.directories,
                list[DirectoryAnswer],
            ),
            Endpoint("GET", "/global/config", "The same for all folders", self.config),
            Endpoint("GET", "/config", "The settings, without secrets", self.config),
            Endpoint("GET", "/config/providers", "The usable providers", self.providers),
            Endpoint("GET", "/provider", "The usable providers and models", self.provider),
            Endpoint("GET", "/provider/auth", "The logins of providers", self.empty_object),
            Endpoint("GET", "/agent", "The agents", self.agents, list[JsonObject]),
            Endpoint("GET", "/command", "The slash commands", self.commands, list[JsonObject]),
            Endpoint("GET", "/skill", "The skills", self.skills, list[SkillAnswer]),
            Endpoint("GET", "/mcp", "The MCP servers", self.mcp, dict[str, McpAnswer]),
            self._switch("connect", "Connect an MCP server"),
            self._switch("disconnect", "Disconnect an MCP server"),
            Endpoint("GET", "/lsp", "The language servers", self.lsp, list[LspAnswer]),
            Endpoint("GET", "/formatter", "The formatters", self.formatters, list[FormatterAnswer]),
            *self._file_endpoints(),
            *self._request_endpoints(),
        )

    def _switch(self, change: McpChange, summary: str) -> Endpoint:
        async def switch(request: Request) -> Json:
            runtime, name = await self._runtime(request), request.path_params["server"]
            if runtime.mcp.status(name) is None:
                raise RequestError(404, f"There is no MCP server {name}.")
            await LocalControls(runtime).change_server(name, change)
            return True

        return Endpoint("POST", f"/mcp/{{server}}/{change}", summary, switch, bool)

    def _file_endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "GET",
                "/find",
                "Search text in files",
                self.find_text,
                list[JsonObject],
                query={"pattern": TEXT},
            ),
            Endpoint(
                "GET",
                "/find/file",
                "Search files by name",
                self.find_files,
                list[str],
                query={"query": TEXT, "limit": TEXT, "type": KIND, "dirs": FLAG},
            ),
            Endpoint("GET", "/find/symbol", "Search symbols", self.empty_list, list[JsonObject]),
            Endpoint(
                "GET",
                "/file",
                "List a folder",
                self.list_files,
                list[FileNode],
                query={"path": TEXT},
            ),
            Endpoint(
                "GET",
                "/file/content",
                "Read a file",
                self.read_file,
                FileContent,
                query={"path": TEXT},
            ),
        )

    def _request_endpoints(self) -> tuple[Endpoint, ...]:
        answer = "Answer a permission request"
        return (
            Endpoint(
                "GET",
                "/permission",
                "The open permission requests",
                self.permissions,
                list[PermissionAnswer],
            ),
            Endpoint(
                "POST",
                "/permission/{request}/reply",
                answer,
                self.reply_permission,
                bool,
                PermissionReplyBody,
            ),
            Endpoint(
                "POST",
                "/session/{session}/permissions/{request}",
                answer,
                self.respond_permission,
                bool,
                PermissionResponseBody,
            ),
            Endpoint(
                "GET",
                "/question",
                "The open questions",
                self.questions,
                list[QuestionAnswer],
            ),
            Endpoint(
                "POST",
                "/question/{request}/reply",
                "Answer a question",
                self.reply_question,
                bool,
                QuestionReplyBody,
            ),
            Endpoint(
                "POST",
                "/question/{request}/reject",
                "Dismiss a question",
                self.reject_question,
                bool,
            ),
        )

    async def empty_list(self, _: Request) -> Json:
        return []

    async def empty_object(self, _: Request) -> Json:
        return {}

    async def paths(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        return {
            "home": os.environ.get("HOME", ""),
            "state": str(runtime.paths.data),
            "config": str(runtime.paths.config),
            "worktree": str(runtime.project),
            "directory": str(runtime.directory),
        }

    async def projects(self, _: Request) -> Json:
        found = {str(folder.runtime.project): folder.runtime for folder in self.folders.all()}
        return [_project_shape(runtime) for runtime in found.values()]

    async def project(self, request: Request) -> Json:
        return _project_shape(await self._runtime(request))

    async def directories(self, request: Request) -> Json:
        named = request.path_params["project"]
        projects = {
            shapes.project_id(str(f.runtime.project)): f.runtime for f in self.folders.all()
        }
        if named not in projects:
            raise RequestError(404, f"No folder of the project {named} is open.")
        return [{"directory": str(projects[named].project)}]

    async def config(self, request: Request) -> Json:
        """The settings that clients show; keys and environments of servers are not among them."""
        runtime = await self._runtime(request)
        settings = runtime.config.config
        return {
            "model": runtime.catalog.default_model(),
            "small_model": settings.small_model,
            "default_agent": settings.default_agent,
            "username": os.environ.get("USER", ""),
            "share": "disabled",
            "agent": {},
            "mode": {},
            "command": {},
            "plugin": [],
        }

    async def providers(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        return {"providers": _providers(runtime), "default": _defaults(runtime)}

    async def provider(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        found = _providers(runtime)
        connected: list[Json] = [*runtime.catalog.providers()]
        return {"all": found, "default": _defaults(runtime), "connected": connected}

    async def agents(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        return [_agent_shape(runtime, info) for info in runtime.agents.listed()]

    async def commands(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        return [_command_shape(each) for each in await runtime.commands.all()]

    async def skills(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        found = (await runtime.guidance.find_skills()).skills.values()
        return [
            {"name": each.name, "description": each.description, "location": str(each.path)}
            for each in found
        ]

    async def mcp(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        return {each.server.name: _server_shape(each) for each in runtime.mcp.statuses()}

    async def lsp(self, request: Request) -> Json:
        """The language servers that were started."""
        runtime = await self._runtime(request)
        return [
            _language_server_shape(each, runtime.project)
            for each in runtime.code.servers.statuses
            if each.state in {"ready", "failed"}
        ]

    async def formatters(self, request: Request) -> Json:
        found = (await self._runtime(request)).code.file_checks.formatters
        return [
            {"name": each.id, "extensions": [*each.extensions], "enabled": True} for each in found
        ]

    async def find_text(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        pattern = request.query_params.get("pattern", "")
        if not pattern:
            raise RequestError(400, "Name the text to search for: ?pattern=…")
        root, private = str(runtime.directory), PrivateFiles(runtime)
        found: list[Json] = []

        def take(records: list[bytes]) -> None:
            for each in records:
                if len(found) < MAX_MATCHES and _path_of(each) not in private:
                    found.append(_match_shape(each, root))

        order = SearchRequest(root=root, folder=root, hidden=True, ignored=False, pattern=pattern)
        await Searcher(find_rg()).run(order, take)
        return found

    async def find_files(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        query = request.query_params
        limit = int(query.get("limit", "50")) if query.get("limit", "50").isdecimal() else 50
        found: tuple[str, ...] = ()
        async for each in runtime.files.matches(query.get("query", ""), limit):
            found = each
        kind = query.get("type") or ("file" if query.get("dirs") == "false" else "")
        return [path for path in found if not kind or path.endswith("/") == (kind == "directory")]

    async def list_files(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        path = request.query_params.get("path", ".")
        folder = await asyncio.to_thread(resolved_inside, runtime, path)
        return await asyncio.to_thread(lambda: list(_entries(folder, runtime.directory)))

    async def read_file(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        named = request.query_params.get("path", "")
        path = await asyncio.to_thread(resolved_inside, runtime, named)
        return await asyncio.to_thread(_content, path)

    async def permissions(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        project = str(runtime.project)
        return [shapes.permission_shape(each, project) for each in runtime.permissions.pending()]

    async def reply_permission(self, request: Request) -> Json:
        body = await read_body(request, PermissionReplyBody)
        hunks = None if body.hunks is None else frozenset(body.hunks)
        reply = PermissionReply(
            body.reply, body.message, hunks, body.command, unsandboxed=body.unsandboxed
        )
        return await self._reply(request, reply)

    async def respond_permission(self, request: Request) -> Json:
        body = await read_body(request, PermissionResponseBody)
        return await self._reply(request, PermissionReply(body.response))

    async def questions(self, request: Request) -> Json:
        runtime = await self._runtime(request)
        return [shapes.question_shape(each) for each in runtime.questions.pending()]

    async def reply_question(self, request: Request) -> Json:
        body = await read_body(request, QuestionReplyBody)
        name = request.path_params["request"]
        for runtime in await self._all(request):
            for asked in runtime.questions.pending():
                if asked.id == name:
                    return runtime.questions.reply(name, _question_reply(asked, body.answers))
        raise RequestError(404, "The question was answered or withdrawn before.")

    async def reject_question(self, request: Request) -> Json:
        name = request.path_params["request"]
        for runtime in await self._all(request):
            if runtime.questions.reply(name, QuestionReply(dismissed=True)):
                return True
        raise RequestError(404, "The question was answered or withdrawn before.")

    async def _reply(self, request: Request, reply: PermissionReply) -> Json:
        """Answer a request of any open folder. The first answer counts; later ones get a 404."""
        for runtime in await self._all(request):
            if runtime.permissions.reply(request.path_params["request"], reply):
                return True
        raise RequestError(404, "The permission request was answered or withdrawn before.")

    async def _all(self, request: Request) -> list[Runtime]:
        await self._runtime(request)
        return [folder.runtime for folder in self.folders.all()]

    async def _runtime(self, request: Request) -> Runtime:
        return (await self.folders.of(request)).runtime


def _project_shape(runtime: Runtime) -> JsonObject:
    used = shapes.milliseconds(runtime.project.stat().st_mtime)
    shape: JsonObject = {
        "id": shapes.project_id(str(runtime.project)),
        "worktree": str(runtime.project),
        "time": {"created": used, "updated": used},
        "sandboxes": [],
    }
    return shape | ({"vcs": "git"} if (runtime.project / ".git").exists() else {})


def _providers(runtime: Runtime) -> list[Json]:
    models: dict[str, list[ModelInfo]] = {}
    for model in runtime.catalog.models():
        models.setdefault(model.provider, []).append(model)
    return [
        {
            "id": provider,
            "name": provider,
            "source": "config",
            "env": [],
            "options": {},
            "models": {model.id: _model_shape(model) for model in found},
        }
        for provider, found in models.items()
    ]


def _defaults(runtime: Runtime) -> JsonObject:
    """The default model of each provider; the first one is the default of new sessions."""
    defaults: JsonObject = {}
    for name in (runtime.catalog.default_model(), *map(_full_name, runtime.catalog.models())):
        provider, _, model = name.partition("/")
        defaults.setdefault(provider, model)
    return defaults


def _full_name(model: ModelInfo) -> str:
    return model.full_name


def _model_shape(model: ModelInfo) -> JsonObject:
    price = model.price or Price(0, 0)
    takes: JsonObject = {
        "text": True,
        "audio": False,
        "image": model.vision,
        "video": False,
        "pdf": model.documents,
    }
    gives: JsonObject = {kind: kind == "text" for kind in takes}
    return {
        "id": model.id,
        "providerID": model.provider,
        "api": {"id": model.id, "url": "", "npm": ""},
        "name": model.name,
        "family": "",
        "release_date": "",
        "capabilities": {
            "temperature": model.temperature,
            "reasoning": model.reasoning,
            "attachment": model.vision,
            "toolcall": model.tools,
            "input": takes,
            "output": gives,
            "interleaved": False,
        },
        "cost": {
            "input": price.input,
            "output": price.output,
            "cache": {"read": price.cache_read or 0, "write": price.cache_write or 0},
        },
        "limit": {"context": model.context_limit or 0, "output": model.output_limit or 0},
        "status": "active",
        "options": {},
        "headers": {},
        "variants": {effort: {} for effort in model.efforts},
    }


def _agent_shape(runtime: Runtime, info: AgentInfo) -> JsonObject:
    rules: list[Json] = [
        {"permission": rule.permission, "pattern": rule.pattern, "action": rule.action}
        for rule in runtime.agents.rules(info.name)
    ]
    shape: JsonObject = {
        "name": info.name,
        "description": info.description,
        "mode": "primary" if info.mode == "hidden" else info.mode,
        "native": True,
        "hidden": info.hidden,
        "permission": rules,
        "options": {},
    }
    if info.model is not None:
        provider, _, model = info.model.partition("/")
        shape["model"] = {"providerID": provider, "modelID": model}
    return shape


def _command_shape(command: CommandInfo) -> JsonObject:
    shape: JsonObject = {
        "name": command.name,
        "description": command.description,
        "source": "skill" if command.kind == "skill" else "command",
        "template": command.template,
        "hints": [command.hint] if command.hint else [],
    }
    chosen: JsonObject = {"agent": command.agent, "model": command.model}
    return shape | {key: value for key, value in chosen.items() if value is not None}


def _language_server_shape(status: LspStatus, project: Path) -> JsonObject:
    return {
        "id": f"{status.id} {status.root}",
        "name": status.id,
        "root": os.path.relpath(status.root, project),
        "status": "connected" if status.state == "ready" else "error",
    }


def _server_shape(status: ServerStatus) -> JsonObject:
    if status.state in {"failed", "connecting"}:
        return {"status": "failed", "error": status.reason or "It is still connecting."}
    return {"status": status.state.replace(" ", "_")}


def _path_of(record: bytes) -> str:
    """Return the path of the file that a match is in."""
    return os.fsdecode(record.partition(b"\0")[0])


def _match_shape(record: bytes, root: str) -> JsonObject:
    """Return a match in the form of ripgrep's JSON."""
    _, _, rest = record.partition(b"\0")
    number, _, rest = rest.partition(b":")
    _, _, line = rest.partition(b":")  # the column before it
    return {
        "path": {"text": os.path.relpath(_path_of(record), root)},
        "lines": {"text": line.decode(errors="replace") + "\n"},
        "line_number": int(number) if number.isdigit() else 0,
        "absolute_offset": 0,
        "submatches": [],
    }


def _entries(folder: Path, directory: Path) -> Iterator[JsonObject]:
    """Yield the entries of *folder*, folders first. Raises ``RequestError``."""
    try:
        found = sorted(os.scandir(folder), key=lambda each: (not each.is_dir(), each.name))
    except OSError as error:
        raise RequestError(404, f"{folder} cannot be listed: {error.strerror}.") from error
    for entry in found:
        is_folder = entry.is_dir()
        yield {
            "name": entry.name,
            "path": os.path.relpath(entry.path, directory) + ("/" if is_folder else ""),
            "absolute": entry.path,
            "type": "directory" if is_folder else "file",
            "ignored": False,
        }


def _content(path: Path) -> JsonObject:
    """Return the text of a file, base64 for anything else. Raises ``RequestError``."""
    try:
        if path.stat().st_size > MAX_FILE:
            raise RequestError(413, f"{path} is larger than {MAX_FILE // 1_000_000} MB.")
        data = path.read_bytes()
    except OSError as error:
        raise RequestError(404, f"{path} cannot be read: {error.strerror}.") from error
    try:
        return {"type": "text", "content": data.decode("utf-8")}
    except UnicodeDecodeError:
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        encoded = base64.b64encode(data).decode()
        return {"type": "binary", "content": encoded, "encoding": "base64", "mimeType": kind}


def _question_reply(asked: Question, answers: list[list[str]]) -> QuestionReply:
    """Return the reply to a question, or to a form with an answer for each field, of which an empty
    one is the default. Raises ``RequestError`` if a form cannot be sent like that."""
    if not asked.fields:
        given = answers[0] if answers else []
        offered = {option.label for option in asked.options}
        labels = tuple(each for each in given if each in offered)
        return QuestionReply(labels, "\n".join(each for each in given if each not in offered))
    from agent.mcp.forms import form_problems, form_values  # reads JSON schemas

    given = (*answers, *[[""]] * len(asked.fields))
    values = form_values(
        (each, words if any(words) else each.default)
        for each, words in zip(asked.fields, given, strict=False)
    )
    problems = form_problems(asked.fields, values)
    if problems:
        labels = {each.name: each.label for each in asked.fields}
        wrong = "; ".join(f"{labels[name]}: {what}" for name, what in problems.items())
        raise RequestError(400, f"The form cannot be sent. {wrong}.")
    return QuestionReply(values=values)
