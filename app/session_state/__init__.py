"""The state of a session as every front end knows it, from snapshots and events; no Textual.

The sessions themselves are in ``agent.session``; the screen that shows one is ``screens.main``.
"""
