"""The built-in model ``demo/offline`` (spec 5, R3): a script, no LLM, no network.

It answers through the same events as a wire protocol, so that everything a person sees of
it went through the real loop and the real tools.
"""

from agent.provider.demo.client import DemoClient

__all__ = ["DemoClient"]
