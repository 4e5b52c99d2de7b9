"""The built-in model ``demo/offline``: a script, without a language model and without network.

It responds with the same events as a wire protocol, so that everything a user sees of it has
passed through the real loop and the real tools.
"""

from agent.provider.demo.tour import DemoClient

__all__ = ["DemoClient"]
