"""Storage of API keys, their precedence, and providers that get none."""

import json
import stat
from pathlib import Path

import pytest

from agent.provider.catalog.catalog import Catalog, ProviderSettings
from agent.provider.catalog.keys import AuthFile, key_error, mask_key
from agent.provider.client_pool import ClientPool
from agent.records.errors import MissingKey, StoreUnavailable

KEY = "sk-test-0123456789abcdefghij"


def catalog(data: Path, *settings: ProviderSettings, **env: str) -> Catalog:
    return Catalog({s.id: s for s in settings}, None, env, keys=AuthFile(data))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_stored_key_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    data = tmp_path / "data"
    AuthFile(data).put("groq", KEY)
    assert mode(data) == 0o700
    assert mode(data / "auth.json") == 0o600
    assert AuthFile(data).stored()["groq"].key == KEY
    assert KEY not in repr(AuthFile(data).stored())
    assert sorted(path.name for path in data.iterdir()) == ["auth.json", "auth.lock"]


def test_keys_are_replaced_and_removed(tmp_path: Path) -> None:
    store = AuthFile(tmp_path)
    assert not store.remove("groq")
    store.put("groq", KEY)
    store.put("xai", "other")
    store.put("groq", "newer")
    assert {name: kept.key for name, kept in store.stored().items()} == {
        "groq": "newer",
        "xai": "other",
    }
    assert store.remove("groq")
    assert list(store.stored()) == ["xai"]


def test_a_key_stored_by_another_instance_counts_at_once(tmp_path: Path) -> None:
    mine, other = AuthFile(tmp_path), AuthFile(tmp_path)
    known = Catalog({}, None, {}, keys=mine)
    assert not known.access.is_usable("groq")
    other.put("groq", KEY)
    assert known.access.is_usable("groq")
    assert known.default_model().startswith("groq/")
    other.remove("groq")
    assert not known.access.is_usable("groq")


def test_a_file_that_others_can_read_is_neither_used_nor_written(tmp_path: Path) -> None:
    AuthFile(tmp_path).put("groq", KEY)
    (tmp_path / "auth.json").chmod(0o640)
    store = AuthFile(tmp_path)
    assert store.stored() == {}
    assert "chmod 600" in store.fault
    with pytest.raises(StoreUnavailable, match="chmod 600"):
        store.put("xai", "k")
    (tmp_path / "auth.json").chmod(0o600)
    assert "groq" in AuthFile(tmp_path).stored()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"keys": 1}'])
def test_a_broken_file_is_reported_and_never_overwritten(tmp_path: Path, content: str) -> None:
    path = tmp_path / "auth.json"
    path.touch(mode=0o600)
    path.write_text(content)
    store = AuthFile(tmp_path)
    assert store.stored() == {}
    assert "auth.json" in store.fault
    with pytest.raises(StoreUnavailable):
        store.put("groq", KEY)
    assert path.read_text() == content


def test_invalid_entries_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "auth.json"
    path.touch(mode=0o600)
    path.write_text(json.dumps({"keys": {"a": {"key": "k"}, "b": 1, "c": {"key": ""}}}))
    assert list(AuthFile(tmp_path).stored()) == ["a"]


def test_the_environment_goes_before_a_stored_key_and_the_config_before_both(
    tmp_path: Path,
) -> None:
    AuthFile(tmp_path).put("groq", KEY)
    found = catalog(tmp_path).access.key_of("groq")
    assert (found.key, found.source) == (KEY, "stored")
    assert catalog(tmp_path, GROQ_API_KEY="e").access.key_of("groq").source == "GROQ_API_KEY"
    own = ProviderSettings(id="groq", api_key="c")
    assert catalog(tmp_path, own, GROQ_API_KEY="e").access.key_of("groq").source == "config"


def test_a_stored_key_is_never_sent_to_a_projects_base_url(tmp_path: Path) -> None:
    AuthFile(tmp_path).put("lab", KEY)
    theirs = ProviderSettings(id="lab", base_url="http://evil.example/v1", user_keys=False)
    known = catalog(tmp_path, theirs)
    assert not known.access.key_of("lab")
    assert known.access.connection("lab").key == ""
    assert "none of your keys" in known.access.key_refusal("lab")


async def test_a_new_key_is_used_by_the_next_client(tmp_path: Path) -> None:
    known = catalog(tmp_path)
    clients = ClientPool(known)
    model = known.model("groq/openai/gpt-oss-20b")
    with pytest.raises(MissingKey):
        clients.client_for(model)
    known.access.keys.put("groq", KEY)
    first = clients.client_for(model)
    assert clients.client_for(model) is first
    known.access.keys.put("groq", "another-key")
    assert clients.client_for(model) is not first
    await clients.aclose()


def test_only_the_end_of_a_long_key_is_shown() -> None:
    assert mask_key(KEY) == "…ghij"
    assert mask_key("short") == "…"


@pytest.mark.parametrize("key", ["", "with space", "sk-“quoted”", "line\nbreak"])
def test_an_impossible_key_is_refused(key: str) -> None:
    assert key_error(key)
    assert not key_error(KEY)
