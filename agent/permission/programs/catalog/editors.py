"""Editors and pagers."""

from agent.permission.programs.record import Option, Program

_PAGER_OPTIONS = (
    Option(
        "-a -c -e -E -f -F -g -G -i -I -J -m -M -n -N -q -Q -r -R -s -S -u -U -w -W -X -l -d "
        "--chop-long-lines --LINE-NUMBERS --RAW-CONTROL-CHARS --quit-if-one-screen --no-init "
        "--ignore-case"
    ),
    Option("-p", value="text"),
    Option("--tag-file -T", effect="read", value="path"),
    Option("--log-file -o --LOG-FILE -O", effect="write", value="path"),
    Option("--lesskey-file -k --lesskey-src", effect="execute", value="path"),
)

PROGRAMS = (
    Program(
        "bat",
        always=1,
        code="--pager",
        options=(Option("--generate-config-file", effect="write"),),
    ),
    Program("delta", always=1, code="--pager"),
    Program("ed ex rvim view", syntax="editor", runs_input="escapes"),
    Program("emacs nvim vi vim", exact=True, syntax="editor", runs_input="escapes"),
    Program(
        "fzf",
        code="--preview --bind --with-shell",
        options=(Option("--listen", effect="network", value="text"),),
    ),
    Program(
        "less more",
        exact=True,
        effect="read",
        operands="read",
        syntax="pager",
        options=_PAGER_OPTIONS,
    ),
    Program(
        "man",
        exact=True,
        reads="--local-file -l",
        loads="-P --config-file -C",
        code="--pager",
        options=(Option("--html -H", effect="execute"),),
    ),
    Program("most", syntax="pager", options=_PAGER_OPTIONS),
    Program("nano", exact=True, loads="-s", code="--speller"),
)
