"""Knowledge of each shell program: options, operands, subcommands and what it runs."""
