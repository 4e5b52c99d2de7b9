"""The wire protocols. ``wire_client`` says how to add one.

Each is one module with its client, the builder of its requests and the decoder of its stream; chat
completions, in which servers differ most, have a module for the decoder.
"""
