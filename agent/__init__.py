"""The agent: everything between a user's prompt and the result, without any user interface.

``runtime`` opens a folder and connects the services; ``session`` runs turns; ``tools`` act,
``permission`` decides whether they can; ``provider`` talks to models; ``store`` keeps sessions.
Front ends call services and follow the events of ``bus``.
"""
