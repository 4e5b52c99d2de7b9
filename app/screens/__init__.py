"""The screens and dialogs: base/, session/, session_list/, requests/, review/; others flat."""
