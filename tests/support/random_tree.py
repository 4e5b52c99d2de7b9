"""Random trees of files: ignore rules, hidden files, links, odd names, bytes that are not text. The
same seed gives the same tree."""

import os
import random
from pathlib import Path

NAMES = [
    b"a.py", b"b.txt", b"c.md", b"d.log", b"e.tar.gz", b"README", b"Makefile", b".env.example",
    b".hidden", b"-n", b"--x", b"[odd] {n}.py", b"sp ace.py", "größe.txt".encode(), b"#hash#",
    b"!bang.py", b"tilde~", b"*star.py", b"q?.py", b"back\\slash.py", b"\xff\xfe.txt", b"comma,.py",
    "漢字.md".encode(), b"UPPER.PY", b"new\nline.txt", b"trailing ", b"o'quote.py",
]  # fmt: skip
FOLDERS = [
    b"src", b"docs", b"build", b"node_modules", b".github", b".cache", b"deep", b"sp ace",
    "ordner-ö".encode(), b"[x]", b"\xfe",
]  # fmt: skip
RULES = [
    "*.log", "build/", "/build", "node_modules", "docs/*.md", "**/deep", "!keep.log", "!c.md",
    "*.t?t", "[a-c].*", "src/**/b.txt", "# a remark", "", "   ", "\\#hash#", "\\!bang.py", "*~",
    "deep/*", "!deep/a.py", "/src/a.py", "sp ace/", "*.py[co]", "**/.cache/**", "UPPER.PY",
    "trailing\\ ", "[[]odd*", "foo/**/bar", ".*", "!.github", "*", "!*/", "!*.md",
]  # fmt: skip
LINES = [
    b"needle", b"a needle here", b"NEEDLE", b"no", b"", b"needle\r", b"\tneedle", b"x" * 3_000,
    "größe needle".encode(), b"\xff needle \xfe", b"--needle", b"needle needle", b"(needle)",
]  # fmt: skip


def make_tree(root: Path, seed: int) -> None:
    """Fill *root*, which is a git repository for most seeds."""
    rng = random.Random(seed)
    if rng.random() < 0.8:
        (root / ".git" / "info").mkdir(parents=True)
        (root / ".git" / "config").write_text("needle\n")
        if rng.random() < 0.5:
            _rules(root / ".git" / "info" / "exclude", rng)
    _fill(os.fsencode(root), rng, 0)
    if rng.random() < 0.3:
        _rules(root / ".ignore", rng)


def _rules(path: Path, rng: random.Random) -> None:
    rules = rng.choices(RULES, k=rng.randint(1, 5))
    end = rng.choice(["\n", "\r\n"])
    path.write_bytes((end.join(rules) + rng.choice(["", end])).encode())


def _fill(folder: bytes, rng: random.Random, depth: int) -> None:
    if rng.random() < (0.9 if depth == 0 else 0.3):
        _rules(Path(os.fsdecode(folder)) / ".gitignore", rng)
    for name in rng.sample(NAMES, rng.randint(1, 7)):
        path = folder + b"/" + name
        kind = rng.random()
        if kind < 0.1:
            target = rng.choice([b"..", b".", b"a.py", b"no-such-file", b"src"])
            Path(os.fsdecode(path)).symlink_to(os.fsdecode(target))
            continue
        lines = rng.choices(LINES, k=rng.randint(0, 6))
        if kind < 0.17:
            lines.insert(rng.randint(0, len(lines)), b"\0binary needle")
        data = b"\n".join(lines) + rng.choice([b"", b"\n"])
        if kind > 0.95:
            data = data.decode("latin-1").encode("utf-16")
        Path(os.fsdecode(path)).write_bytes(data)
        os.utime(path, (1_000_000 + rng.randint(0, 3), 1_000_000 + rng.randint(0, 3)))
    if depth < 3:
        for name in rng.sample(FOLDERS, rng.randint(0, 3)):
            below = folder + b"/" + name
            Path(os.fsdecode(below)).mkdir()
            _fill(below, rng, depth + 1)
