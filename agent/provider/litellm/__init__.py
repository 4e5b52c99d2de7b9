"""Providers without a protocol or login of ours, used through litellm in a child process."""
