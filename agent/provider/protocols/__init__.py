"""The wire protocols. ``wire_client`` says how to add one.

Each has ``<protocol>.py`` with its client and request builder, and ``<protocol>_decode.py`` with
the decoder of its stream.
"""
