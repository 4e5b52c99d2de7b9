"""The screens and dialogs: base/, main/, session_list/, requests/, review/; others flat."""
