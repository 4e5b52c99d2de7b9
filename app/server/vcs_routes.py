"""The endpoints of version control: the branch, and what differs from a commit."""

from starlette.requests import Request
from starlette.responses import PlainTextResponse

from agent.git import git
from agent.records.errors import NothingToDo
from agent.records.frozen import frozen
from agent.records.json import Json, JsonObject
from agent.runtime.worktree_git import status_entries
from agent.runtime.worktrees import work_filter
from agent.session.prompt.environment_block import MAIN_BRANCH_COMMAND, find_main_branch
from agent.session.review.reviewed_file import ReviewedFile
from agent.transfer import opencode_shapes as shapes
from app.server.answers import Branch, ChangedFile, FileDiffAnswer, FileStatusAnswer
from app.server.endpoint import Endpoint
from app.server.folders import Folders

MODE: JsonObject = {"mode": {"type": "string", "enum": ["git", "branch"]}}


@frozen
class VcsRoutes:
    """Version control of the folders that clients name."""

    folders: Folders

    def endpoints(self) -> tuple[Endpoint, ...]:
        changed, diffs = list[FileStatusAnswer], list[FileDiffAnswer]
        return (
            Endpoint("GET", "/vcs", "The branch and the main branch", self.branch, Branch),
            Endpoint("GET", "/vcs/status", "The uncommitted files", self.status, changed),
            Endpoint(
                "GET",
                "/vcs/diff",
                "The changes since the last commit or the main branch",
                self.diff,
                diffs,
                query=MODE,
            ),
            Endpoint(
                "GET",
                "/vcs/diff/raw",
                "The uncommitted changes as one diff",
                self.raw_diff,
                str,
                media="text/x-diff",
            ),
            Endpoint("GET", "/file/status", "The changed files", self.files, list[ChangedFile]),
        )

    async def branch(self, request: Request) -> Json:
        here = str((await self.folders.of(request)).runtime.directory)
        branch = await git(here, "rev-parse", "--abbrev-ref", "HEAD")
        main = find_main_branch(await git(here, *MAIN_BRANCH_COMMAND) or "") if branch else ""
        found: JsonObject = {"branch": branch.strip()} if branch else {}
        return found | ({"default_branch": main} if main else {})

    async def status(self, request: Request) -> Json:
        return [
            {
                key: value
                for key, value in shapes.file_diff_shape(file.block).items()
                if key != "patch"
            }
            for file in await self._changes(request)
        ]

    async def diff(self, request: Request) -> Json:
        """The uncommitted changes, or with ``mode=branch`` all since the main branch; none outside
        a repository."""
        return [shapes.file_diff_shape(file.block) for file in await self._changes(request)]

    async def raw_diff(self, request: Request) -> PlainTextResponse:
        patches = [
            shapes.file_diff_shape(file.block)["patch"] for file in await self._changes(request)
        ]
        return PlainTextResponse("".join(map(str, patches)), media_type="text/x-diff")

    async def files(self, request: Request) -> Json:
        """The uncommitted changes as git names them."""
        runtime = (await self.folders.of(request)).runtime
        status = await git(str(runtime.directory), "status", "--porcelain=v1", "-z", "--renames")
        is_work = await work_filter(runtime.paths, runtime.directory)
        words = {"A": "added", "?": "added", "D": "deleted"}
        return [
            {
                "path": entry[3:],
                "status": words.get(entry[:2].strip()[:1], "modified"),
                "added": 0,
                "removed": 0,
            }
            for entry, before in status_entries(status or "")
            if is_work(entry[3:], before)
        ]

    async def _changes(self, request: Request) -> tuple[ReviewedFile, ...]:
        changes = (await self.folders.of(request)).runtime.changes
        try:
            branch = request.query_params.get("mode") == "branch"
            return (await (changes.branch("") if branch else changes.working_tree())).files
        except NothingToDo:
            return ()
