"""The settings of an opened folder, once it is clear whether its own files count."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from agent.config.loading import LoadedConfig, load_config
from agent.config.paths import Paths, display_path
from agent.permission.trust.project_files import scan_project
from agent.permission.trust.trust import AskTrust, Trust, TrustStore, resolve_trust
from agent.provider.catalog.providers import KNOWN_PROVIDERS
from agent.records.json import Json


async def read_settings(
    directory: Path,
    project: Path,
    env: Mapping[str, str],
    overrides: Mapping[str, Json] | None = None,
    *,
    paths: Paths | None = None,
    ask: AskTrust | None = None,
    trust_once: bool = False,
) -> tuple[LoadedConfig, Trust]:
    """Return the settings for *directory* in *project* (both resolved), and the project's trust.

    *ask* is called before anything of the project is used; without it only what was trusted
    before is used, or everything with *trust_once*. See ``load_config`` for the rest.
    """
    paths = paths or Paths.find(env)
    own = load_config(directory, project, env, overrides, paths=paths)
    look = partial(scan_project, directory, project, paths, env, own.config.instructions)
    trust = Trust(
        store=TrustStore(paths.data),
        project=project,
        folder=display_path(project, env),
        scan=look,
        found=await asyncio.to_thread(look),
        once=trust_once,
    )
    trust = await resolve_trust(trust, ask)
    if not trust.trusted and not (trust.status == "nothing" and own.project_files):
        return own, trust
    loaded = load_config(
        directory,
        project,
        env,
        overrides,
        paths=paths,
        trusted=True,
        providers_with_keys={
            spec.id: (spec.base_url, *(f"{{env:{name}}}" for name in spec.key_variables))
            for spec in KNOWN_PROVIDERS.values()
            if not spec.local
        },
    )
    # Where nothing needs trust, the only use of the project's files is to say what has no effect.
    return (loaded if trust.trusted else replace(own, notices=loaded.notices)), trust
