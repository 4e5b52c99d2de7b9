"""Builtins of the shell."""

from agent.permission.programs.record import Option, Program, Wrapper

PROGRAMS = (
    Program(
        ". alias bind compgen complete compopt dirs enable export fc getopts hash "
        "history local mapfile readarray readonly shopt source unalias",
        builtin=True,
        changes_shell=True,
    ),
    Program(": break continue exit return shift", effect="read", operands="text", builtin=True),
    Program("[", syntax="test", builtin=True),
    Program("bg caller disown eval fg logout suspend times trap ulimit", builtin=True),
    Program("builtin", operands="command", builtin=True, wrapper=Wrapper()),
    Program("cd pushd", effect="read", operands="folders", syntax="state", builtin=True),
    Program(
        "command",
        effect="read",
        operands="command",
        syntax="command",
        builtin=True,
        wrapper=Wrapper(inert=True),
        options=(Option("-p"),),
    ),
    Program("declare let typeset unset", builtin=True, changes_shell=True, evaluates_names=True),
    Program("echo", always=1, effect="read", operands="text", syntax="echo", builtin=True),
    Program(
        "exec",
        operands="command",
        builtin=True,
        wrapper=Wrapper(),
        options=(
            Option("-c -l"),
            Option("-a", value="text"),
        ),
    ),
    Program("false true", always=1, effect="read", operands="text", builtin=True),
    Program(
        "jobs",
        effect="read",
        operands="text",
        builtin=True,
        options=(
            Option("-l -p -r -s"),
            Option("-x", effect="execute"),
        ),
    ),
    Program("kill", exact=True, destructive=True, builtin=True),
    Program("popd set", effect="read", operands="text", syntax="state", builtin=True),
    Program(
        "printf",
        always=1,
        effect="read",
        operands="text",
        syntax="test",
        builtin=True,
        evaluates_names=True,
    ),
    Program(
        "pwd",
        always=1,
        effect="read",
        operands="none",
        builtin=True,
        options=(Option("-L -P"),),
    ),
    Program(
        "read",
        effect="read",
        operands="text",
        syntax="state",
        builtin=True,
        evaluates_names=True,
    ),
    Program("test", always=1, effect="read", operands="text", syntax="test", builtin=True),
    Program(
        "type",
        always=1,
        effect="read",
        operands="text",
        builtin=True,
        options=(Option("-a -f -p -t -P"),),
    ),
    Program("umask", effect="read", operands="none", builtin=True, options=(Option("-S"),)),
    Program("wait", effect="read", operands="text", builtin=True, evaluates_names=True),
)
