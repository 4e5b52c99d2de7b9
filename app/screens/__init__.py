"""The screens and dialogs: base/, session/, session_list/, permission/, review/; others flat."""
