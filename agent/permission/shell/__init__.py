"""The analysis of a shell command line: its programs, paths, redirects and effects.

It runs nothing; ``agent.tools.shell`` does.
"""
