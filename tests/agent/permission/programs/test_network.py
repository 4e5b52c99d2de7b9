"""Commands that are known to use the network."""

import pytest

from agent.permission.shell.analysis import command_needs

ONLINE = """
curl https://example.org
wget -q https://example.org/a.tgz
git push origin main
git -C sub fetch --all
git clone https://example.org/x.git
npm install left-pad
npm ci
npm run dev
npm start
pnpm add zod
yarn install
pip install -r requirements.txt
pip3 install flask
python -m pip install .
python3.12 -m http.server 8000
python manage.py runserver
uv sync
uvx ruff check
cargo build --release
cargo add serde
go get ./...
gh pr view 3
ssh host uptime
rsync -a src host:dst
kubectl get pods
uvicorn app:app
env FOO=1 curl https://example.org
timeout 5 npm install
"""

OFFLINE = """
git status
git commit -m 'push the docs'
git log
npm test
npm run build
pytest -q tests
python -m pytest
python setup.py build
cargo test
go build ./...
make install
ls -l
curl --version
echo npm install
rm -rf build
"""


def uses_network(line: str) -> bool:
    needs = command_needs(line, directory="/srv/shop", project="/srv/shop", home="/home/ann")
    return any(need.network for need in needs)


@pytest.mark.parametrize("line", ONLINE.strip().splitlines())
def test_the_question_says_that_a_command_uses_the_network(line: str) -> None:
    needs = command_needs(line, directory="/srv/shop", project="/srv/shop", home="/home/ann")
    assert any(need.network and "uses the network" in need.reason for need in needs)


@pytest.mark.parametrize("line", OFFLINE.strip().splitlines())
def test_other_commands_do_not_bring_the_network(line: str) -> None:
    assert not uses_network(line)
