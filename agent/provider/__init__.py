"""Language models: the catalog of models, and one client interface for all providers.

- ``client``: requests, stream events and the ``ModelClient`` protocol;
- ``client_pool``: the client for a model, created when it is first needed;
- ``catalog``: providers, models, prices, keys and the levels of reasoning effort;
- ``protocols``: the wire protocols, each with a request builder and a stream decoder;
- ``quirks``: the changes to a request that single providers need, among them the translation of
  the reasoning effort (``quirks.reasoning_effort``);
- ``transport``: HTTP, framing, errors and retries;
- ``litellm``: providers without a protocol of ours, through a child process;
- ``demo``: the built-in model ``demo/offline``.
"""
