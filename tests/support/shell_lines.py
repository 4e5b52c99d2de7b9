"""Random command lines of bash, as people and attackers write them.

Every path in them is relative, or starts with ``$HOME`` or ``$TMPDIR``: a line that is run in the
folder of ``tests/support/effects.py`` cannot reach anything else. The code that attackers hide
creates ``M`` or runs ``hit``.
"""

import random
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.support.shell_words import (
    AWK,
    CODE,
    FILES,
    FIND,
    FOLDERS,
    GIT,
    GLOBS,
    INDEXES,
    JQ,
    ODD_AWK,
    ODD_FILES,
    ODD_FIND,
    ODD_FOLDERS,
    ODD_GIT,
    ODD_GLOBS,
    ODD_JQ,
    ODD_REDIRECTS,
    ODD_SED,
    PARAMETERS,
    PREFIXES,
    REDIRECTS,
    REGEXES,
    SED,
    TESTS,
    VALUES,
)

PROGRAMS = Path(__file__).parents[1] / "data" / "permission" / "program_forms.txt"
"""Rows ``NAME | OPTIONS | OPTIONS OF ATTACKERS | FORM;FORM``. A capital letter in a form is a word
of that kind: file, directory, pattern, script of sed or awk, jq filter, expression of find, git
command, code, index, word, or another command (X)."""


class Record:
    """One program: its ordinary options, those that attackers use, and forms of its operands."""

    def __init__(self, line: str) -> None:
        name, plain, odd, forms = (part.strip() for part in line.split("|", 3))
        self.name = name
        self.plain = plain.split()
        self.odd = odd.split()
        self.forms = forms.split(";")


RECORDS = [Record(line) for line in PROGRAMS.read_text("utf-8").splitlines()]
_USUAL = [
    "ls",
    "cat",
    "head",
    "tail",
    "grep",
    "rg",
    "sed",
    "awk",
    "find",
    "sort",
    "uniq",
    "wc",
    "cut",
    "tr",
    "diff",
    "git",
    "jq",
    "echo",
]
READERS = [record for record in RECORDS if record.name in _USUAL]


class LineGenerator:
    """An endless source of lines; the same ones for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._depth = 0
        self._risk = 0.0
        self._structures: Sequence[Callable[[], str]] = (
            self._pipeline, self._list, self._loop, self._condition, self._case, self._function,
            self._group, self._assignments, self._here_document, self._arithmetic, self._test,
            self._moved, self._text_into_shell, self._reading, self._process_substitution,
            self._coprocess, self._commented, self._alias, self._background,
        )  # fmt: skip

    def line(self) -> str:
        """Return the next line."""
        self._depth = 0
        self._risk = self._random.choice((0.0, 0.0, 0.02, 0.05, 0.15, 0.4))
        return self._statement()

    def _one(self, plain: Sequence[str], odd: Sequence[str] = ()) -> str:
        return self._random.choice(odd if odd and self._odds(self._risk) else plain)

    def _odds(self, chance: float) -> bool:
        return self._random.random() < chance

    def _statement(self) -> str:
        self._depth += 1
        try:
            if self._depth > 3 or self._odds(0.4):
                return self._command()
            return self._random.choice(self._structures)()
        finally:
            self._depth -= 1

    # Commands

    def _command(self) -> str:
        record = self._random.choice(READERS if self._odds(0.65) else RECORDS)
        words = [record.name]
        for _ in range(self._random.choice((0, 0, 1, 1, 2))):
            options = record.odd if record.odd and self._odds(self._risk) else record.plain
            if options:
                words.append(self._styled(self._random.choice(options), 0.15))
        words += self._operands(self._random.choice(record.forms))
        text = " ".join(filter(None, words))
        if self._odds(0.06 + self._risk / 2):
            text = f"{self._one(PREFIXES[:1] + PREFIXES[1:4], PREFIXES)} {text}"
        if self._odds(0.15):
            redirect = self._one(REDIRECTS, ODD_REDIRECTS)
            text = f"{text} {redirect}" if self._odds(0.9) else f"{redirect} {text}"
        if self._odds(self._risk / 4):
            text = self._disguised(text)
        return text

    def _operands(self, form: str) -> list[str]:
        found: list[str] = []
        for part in form.split():
            match part:
                case "F":
                    found.append(self._file())
                case "D":
                    found.append(self._one(FOLDERS, ODD_FOLDERS))
                case "P":
                    found.append(self._styled(self._one(REGEXES), 0.7))
                case "S":
                    found.append(self._script(SED, ODD_SED))
                case "A":
                    found.append(self._script(AWK, ODD_AWK))
                case "J":
                    found.append(self._script(JQ, ODD_JQ))
                case "E":
                    found.append(self._one(FIND, ODD_FIND))
                case "G":
                    found.append(self._one(GIT, ODD_GIT))
                case "C":
                    found.append(shlex.quote(self._one(CODE)))
                case "I":
                    found.append(self._one(INDEXES[:4], INDEXES))
                case "W":
                    found.append(self._word())
                case "X":
                    found.append(self._command() if self._depth < 5 else "ls")
                case _:
                    found.append(self._with_index(part))
        return found

    def _with_index(self, text: str) -> str:
        for letter, pool in (("I", INDEXES), ("W", VALUES), ("C", tuple(map(shlex.quote, CODE)))):
            if text.endswith(f"={letter}") or text in (f"'{letter}'", f"({letter})"):
                text = text.replace(letter, self._one(pool[:4], pool))
        return text

    def _script(self, plain: Sequence[str], odd: Sequence[str]) -> str:
        text = self._one(plain, odd)
        if self._odds(self._risk):
            text = self._one((text, f"{text};{self._one(odd)}", f"{text}\n{self._one(odd)}"))
        quoted = shlex.quote(text)
        if self._odds(self._risk / 2):
            quoted = f'"{text}"' if '"' not in text else quoted
        elif self._odds(self._risk / 2):
            quoted = self._ansi(text)
        return quoted

    def _disguised(self, text: str) -> str:
        name, _, rest = text.partition(" ")
        changed = self._random.choice((
            f"\\{name}", f'"{name}"', f"{name[:1]}''{name[1:]}", f"./{name}", f"$x{name}",
            f"{{{name},}}", f"$({name})", f"/usr/bin/{name}", f"!{name}", f"{name}\\\n",
            f"$'{name}'", f"${{y:-{name}}}", f"{name}\r", f"{name}\u00a0", f"'{name} '",
            f"~/{name}",
            f"$(echo {name})", f"{name[:1]}${{y}}{name[1:]}", f"{name[:1]}?{name[2:]}",
        ))  # fmt: skip
        return f"{changed} {rest}"

    # Words

    def _file(self) -> str:
        if self._odds(0.2):
            return self._one(GLOBS, ODD_GLOBS)
        name = self._one(FILES, ODD_FILES)
        if name.startswith(("$HOME", "$TMPDIR", "~")):
            return name
        return self._styled(name, 0.2)

    def _word(self) -> str:
        kind = self._random.random()
        if kind < 0.4:
            return self._styled(self._one(("a", "hello", "x y", "1", "a.txt"), CODE + INDEXES), 0.5)
        if kind < 0.7:
            text = self._one(("$x", "${x:-a}", "${#x}", "$?", "$((1+2))", "$HOME"), PARAMETERS)
            text = (
                text.replace("I", self._one(INDEXES[:4], INDEXES)) if "HIST" not in text else text
            )
            return f'"{text}"' if self._odds(0.6) else text
        if kind < 0.85 and self._depth < 4:
            inner = self._statement()
            text = f"$({inner})"
            return f'"{text}"' if self._odds(0.6) else text
        if kind < 0.9:
            return f"`{self._one(CODE[-6:-3], CODE)}`"
        return self._file()

    def _styled(self, text: str, chance: float) -> str:
        """Return *text* as one word, quoted in one of the ways there are."""
        plain = text if shlex.quote(text) == text or text.startswith("-") else shlex.quote(text)
        if not self._odds(chance):
            return plain if "$" not in text else shlex.quote(text)
        match self._random.randrange(7):
            case 0:
                return shlex.quote(text) if "'" in text else f"'{text}'"
            case 1:
                return shlex.quote(text) if set(text) & set('$`\\"') else f'"{text}"'
            case 2:
                return self._ansi(text)
            case 3:
                return "".join(
                    f"\\{c}" if not c.isalnum() and c != "\n" else c for c in text[:1]
                ) + (shlex.quote(text[1:]) if text[1:] else "")
            case 4:
                at = self._random.randrange(len(text) + 1)
                return f"{shlex.quote(text[:at])}{shlex.quote(text[at:])}"
            case 5 if self._odds(0.5 + self._risk):
                return f'"$(printf %s {shlex.quote(text)})"'
            case _:
                return f"${{none:-{text}}}" if text.isalnum() else plain

    def _ansi(self, text: str) -> str:
        def escaped(char: str) -> str:
            if char in "'\\":
                return f"\\{char}"
            style = self._random.randrange(6)
            if ord(char) < 128 and style == 0:
                return f"\\x{ord(char):02x}"
            if ord(char) < 128 and style == 1:
                return f"\\{ord(char):03o}"
            return "\\n" if char == "\n" else char

        return "$'" + "".join(map(escaped, text)) + "'"

    # Structures

    def _pipeline(self) -> str:
        parts = [self._statement()]
        plain, odd = (
            ("head -n2", "wc -l", "sort", "cat", "tail -n1", "grep a",
                "uniq -c",
                                    "tr a b", "cut -c1-3", "sed -n 1p", "awk '{print $1}'"),
                                   ("sh", "bash", "xargs rm", "tee M", "xargs -I{} sh -c {}",
                                       "source /dev/stdin",
                                    "while read l; do $l; done", "xargs cat", "sort -oM",
                                    "bash -s", "xargs",
                                    "sed -f -", "awk -f -", "python3", "eval \"$(cat)\"",
                                    "read x", "sh -x",
                                    "mapfile -t q", "xargs touch", "uniq - M",
                                    "jq -f/dev/stdin", "tar xf -",
                                    "git apply", "rg -f- .", "wc --files0-from=-",
                                    "xargs -n1 echo", "node",
                                    "while read -r l; do cat \"$l\"; done", "env -S x",
                                    "make -f-"),
        )  # fmt: skip
        parts += [self._one(plain, odd) for _ in range(self._random.choice((1, 1, 2)))]
        return self._random.choice((" | ", " | ", "|", " |& ")).join(parts)

    def _list(self) -> str:
        joint = self._random.choice((" && ", "; ", " || ", "\n", " ; "))
        return joint.join(self._statement() for _ in range(self._random.choice((2, 2, 3))))

    def _loop(self) -> str:
        over = self._random.choice(
            ("*.txt", "a b", "1 2 3", "{1..3}", '"$@"', "$(ls *.txt)", "$x", "sub/*")
        )
        body = self._one(('echo "$f"', 'cat "$f"', 'wc -l "$f"', "echo $f", 'head -n1 -- "$f"'),
                         ('$f', 'rm "$f"', 'cat $f', 'sort "$f"', 'eval "$f"', 'x=$f',
                             '[ "$f" -eq 1 ]',
                          'touch M', 'echo $((f))', 'cat "../$f"', 'echo > $f', 'cat "$f/.env"',
                          'cd "$f"',
                          'printf -v "$f" x', 'let f', '[[ $f -gt 0 ]]', 'rg a $f',
                          'declare "$f=1"'))  # fmt: skip
        match self._random.randrange(6):
            case 0:
                return f"while read -r f; do {body}; done < {self._file()}"
            case 1:
                return f"{self._statement()} | while read f; do {body}; done"
            case 2:
                most = self._one(("2", "3"), INDEXES)
                return f"for ((i=0; i<{most}; i++)); do {self._statement()}; done"
            case 3:
                over = self._one((over,), ODD_GLOBS)
                return f"for f in {over}; do {body}; {self._statement()}; done"
            case 4:
                test = self._one(("true", "[ -f a.txt ]"), CODE[-3:])
                return f"until {test}; do {self._statement()}; done"
            case _:
                return f"for f in {self._one((over,), ODD_GLOBS)}; do {body}; done"

    def _condition(self) -> str:
        other = f" else {self._statement()};" if self._odds(0.4) else ""
        return f"if {self._statement()}; then {self._statement()};{other} fi"

    def _case(self) -> str:
        subject = self._one(("a", "$x", '"$x"', "$1"), PARAMETERS)
        pattern = self._one(
            ("a", "a|b", "*", "[ab]*", "(a"), ("$(hit)", "`touch M`", "$x", "*$((I))")
        )
        pattern = pattern.replace("I", self._one(INDEXES))
        return f"case {subject} in {pattern}) {self._statement()};; *) {self._statement()};; esac"

    def _function(self) -> str:
        name = self._one(
            ("f", "show", "g2"), ("ls", "cat", "cd", "echo", "git", "[", "command", "hit")
        )
        body = self._statement()
        call = self._one(
            (name, f"{name} a.txt"), ("ls", "cat a.txt", f"unset -f {name}; {name}", f"{name} .env")
        )
        return self._random.choice((f"{name}() {{ {body}; }}; {call}",
            f"function {name} {{ {body}; }}; {call}",
                                    f"{name}() ( {body} ); {call}"))  # fmt: skip

    def _group(self) -> str:
        redirect = self._one(("", "", " 2>/dev/null"), ODD_REDIRECTS)
        inner = self._statement()
        text = f"( {inner} )" if self._odds(0.5) else f"{{ {inner}; }}"
        return f"{self._one(('', '', '! '))}{text} {redirect}".strip()

    def _assignments(self) -> str:
        name = self._one(
            ("x", "x", "y", "n"),
            ("PATH", "IFS", "PS4", "HOME", "PWD", "x[0]", "BASH_ENV", "OLDPWD"),
        )
        value = self._one(VALUES[:4], VALUES)
        use = self._one(('echo "$x"', "echo $x", 'cat "$x"', "ls $x", "echo ${x:-a}",
            self._command()),
                        ("$x", "$x a.txt", "eval $x", "ls $x$y", "echo $((x))",
                            "[[ $x -eq 1 ]]", "cat < $x",
                         "echo ${x@P}", "echo ${!x}", "sort $x", "let y=x", "echo > $x",
                         "echo ${y[x]}",
                         "declare -i z=$x", "cat ${x}v", "cd $x; echo >M", "[ -v $x ]",
                         "printf -v $x a",
                         "read $x <<< a", "unset $x", "test $x", "echo ${y:x}",
                         "for i in $x; do $i; done",
                         ". ./$x", "sed $x a.txt", "x=$y; $x", "bash -c $x", "rg a $x",
                         "local -n r=$x", "typeset -n r=x; r=1; $r", "git diff $x",
                         "echo ${a[$x]}"))  # fmt: skip
        how = self._random.choice((f"{name}={value}", f"{name}={value}", f"export {name}={value}",
                                   f"declare {name}={value}", f"{name}+={value}",
                                   f"readonly {name}={value}",
                                   f"printf -v {name} %s {shlex.quote(value)}"))  # fmt: skip
        return f"{how}{self._random.choice(('; ', ' && ', chr(10)))}{use}"

    def _here_document(self) -> str:
        command = self._one(("cat", "wc -l", "sort", "grep a", "sed -n p", "head -n1"),
                            ("sh", "bash", "python3", "tee M", "while read l; do $l; done",
                                "xargs", "source /dev/stdin",
                             "awk -f- a.txt", "sed -f- a.txt", "read x; $x", "cat > M",
                             "jq -n -f/dev/stdin"))  # fmt: skip
        mark = self._random.choice(("E", "'E'", '"E"', "\\E", "E"))
        body = self._one(
            ("hello", "a\nb", "$x", "it's", "a ) b", "# ( {"),
            (
                "$(touch M)",
                "`hit`",
                "touch M",
                "${x:-$(hit)}",
                "\\$(touch M)",
                "$((a[$(hit)]))",
                "1e hit\nw M",
            ),
        )
        dash = "-" if self._odds(0.2) else ""
        after = f"\n{self._statement()}" if self._odds(0.3) else ""
        end = self._one(("\nE",), ("\nE ", "\n E", "", "\nE)", "\nEE\nE"))
        return f"{command} <<{dash}{mark}\n{body}{end}{after}"

    def _arithmetic(self) -> str:
        index = self._one(INDEXES[:4], INDEXES)
        return self._one((f"echo $(({index} + 1))", f"(( {index} > 0 )) && echo yes",
            f"x=$(( {index} * 2 )); echo $x",
                          "x=5; echo $((x - 1))"),
                         (f"x='{index}'; echo $((x))", f"(( y = {index} ))", f"let 'y={index}'",
                             f"echo ${{x:{index}}}",
                          "read n < data.txt; echo $((n))", "x=$(cat data.txt); (( x ))",
                          f"y[{index}]=1",
                          f"echo ${{y[{index}]}}", "for f in *; do (( f )); done",
                          f"declare -i n; n='{index}'",
                          "while read -r n; do echo $(( n )); done < data.txt",
                          "n=$(wc -l < a.txt); echo $((n+1))",
                          "IFS=, read -a q < c.csv; echo $(( q[0] ))",
                          "echo $(( $(cat data.txt) ))",
                          f"set -- '{index}'; echo $(( $1 ))",
                          "x=$(head -n1 data.txt); [[ $x -gt 1 ]]",
                          "n=$(ls | wc -l); echo $((n * 2))", f"printf %d '{index}'",
                          f"test '{index}' -gt 1"))  # fmt: skip

    def _test(self) -> str:
        text = self._one(TESTS[:10], TESTS)
        while "I" in text:
            text = text.replace("I", shlex.quote(self._one(INDEXES[:3], INDEXES)), 1)
        return f"[[ {text} ]] {self._random.choice(('&&', '||'))} {self._statement()}"

    def _moved(self) -> str:
        folder = self._one(("sub", ".", "./sub"), ODD_FOLDERS)
        after = self._one(("ls", "cat d.txt", "pwd", "cat *.txt", "grep -n a *.txt",
            "git status", "cd .. && cat a.txt"),
                          ("echo >M", "cat up.txt", "cat ../.env", "./git status",
                              "cat ../../outside.txt", "git diff",
                           "ls > ../M", "cat < up.txt", "cd ..; cat ../outside.txt",
                           "echo x > d.txt", "cat .env",
                           "grep -r . .", "cat notes.txt", "source x.sh"))  # fmt: skip
        text = f"cd {folder}{self._random.choice((' && ', '; ', ' || '))}{after}"
        return f"({text}); {self._statement()}" if self._odds(0.3) else text

    def _text_into_shell(self) -> str:
        code = self._one(CODE)
        quoted = shlex.quote(code)
        return self._one((f"echo {quoted}", f"echo {quoted} | cat",
            f"printf '%s\\n' {quoted} | wc -c"),
                         (f"echo {quoted} | sh", f"printf %s {quoted} | bash",
                             f"bash <<< {quoted}", f"eval {quoted}",
                          f"bash -c {quoted}", f"echo {quoted} | rev | rev | sh",
                          f". <(echo {quoted})",
                          f"x={quoted}; $x", f"xargs -I{{}} sh -c '{{}}' <<< {quoted}",
                          f"echo {quoted} > M; sh M",
                          f"$(echo {quoted})", f"trap {quoted} EXIT", f"env {code}",
                          f"time {code}", f"! {code}",
                          f"command {code}", f"exec {code}", f"if {code}; then :; fi",
                          f"a=({quoted}); ${{a[0]}}",
                          f"sh -c \"$(echo {quoted})\"", f"base64 -d <<< x | {code}",
                          f"alias q={quoted}\nq",
                          f"shopt -s expand_aliases\nalias ls={quoted}\nls",
                          f"[ -n \"$({code})\" ]",
                          f"echo ${{x:-$({code})}}", f"PS4='$({code})'; set -x; ls",
                          f"cat <({code})",
                          f"PROMPT_COMMAND={quoted} bash -i", f"echo `echo \\`{code}\\``",
                          f"coproc {code}",
                          f"mapfile -C {quoted} -c1 q < a.txt", f"echo a | tee >({code})",
                          f"x[$({code})]=1",
                          f"echo {{a,$({code})}}", f"case $({code}) in *) ;; esac",
                          f"echo $'a' # '\n{code}",
                          f"echo \\\\\n{code}", f": ${{x:=$({code})}}",
                          f"select f in $({code}); do break; done",
                          f"ls;{code}", f"ls&{code}", f"ls\n{code}", f"ls # x\n{code}",
                          f"ls || {code}"))  # fmt: skip

    def _reading(self) -> str:
        source = self._one(
            ("< a.txt", "<<< a", "< <(ls)"),
            ("< data.txt", "<<< $x", "< .env", "< lnk", "<<< 'a[$(hit)]'"),
        )
        use = self._one(('echo "$x"', 'echo "${x}"', "echo done"),
                        ("$x", "echo $((x))", "cat $x", "eval $x", "[[ x -gt 1 ]]",
                            "echo ${x@P}", "echo ${!x}",
                         "echo ${q[x]}", "cat \"$x\"", "ls $x", "cat < $x", "q[x]=1",
                         "[ $x -eq 1 ]", "test -v $x",
                         "printf '%d' $x", "let x++", "(( x++ ))", "sort $x",
                         "echo ${q:x}"))  # fmt: skip
        command = self._one(("read -r x", "read x", "read -r x y", "mapfile -t x"))
        return f"{command} {source}; {use}"

    def _process_substitution(self) -> str:
        return self._one((f"cat <({self._command()})",
            f"diff <({self._command()}) <({self._command()})",
                          f"wc -l < <({self._command()})"),
                         (f"{self._command()} > >({self._one(CODE)})",
                             f"cat <({self._one(CODE)})",
                          f"source <({self._command()})", f"tee >({self._one(CODE)}) < a.txt",
                          f"comm <({self._one(CODE)}) a.txt"))  # fmt: skip

    def _coprocess(self) -> str:
        return self._one((f"{{ {self._statement()}; }}", self._statement()),
                         (f"coproc {self._command()}", f"coproc q {{ {self._statement()}; }}",
                             f"coproc {{ {self._one(CODE)}; }}; wait"))  # fmt: skip

    def _commented(self) -> str:
        note = self._random.choice(
            ("list", "it's", "a ( b", "}", "'", '"', "`", "$(", "done; fi", "<<E", "\\")
        )
        return f"{self._command()} # {note}\n{self._statement()}"

    def _alias(self) -> str:
        return self._one((self._list(),),
                         (f"alias ls='{self._one(CODE)}'; ls",
                             f"shopt -s expand_aliases\nalias ls='{self._one(CODE)}'\nls",
                          "BASH_ALIASES[ls]=hit; ls", f"set -o posix; {self._statement()}",
                          f"shopt -s extglob\n{self._statement()}", "shopt -s globstar; cat **",
                          "shopt -s dotglob; cat *",
                          "shopt -s dotglob\ngrep -h . *", "set -a; PATH=.; ls",
                          "shopt -s nullglob; cat *.none .env"))  # fmt: skip

    def _background(self) -> str:
        return (
            f"{self._command()} &{self._random.choice((' wait', ' ', chr(10)))}" + self._command()
        )
