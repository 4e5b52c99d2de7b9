"""Files of the user: their text with its encoding, safe replacement, and the files that each
session has read.

``text`` decodes without losing a byte, ``disk`` reads and replaces, ``transaction`` changes
several files or none, ``tracker`` remembers what each session has read, serializes writers and has
the interface of the user's editor.
"""

from agent.files.disk import (
    FileContent,
    FileStamp,
    load,
    printable,
    replace_file,
    run_to_end,
    stamp_of,
)
from agent.files.text import TextFile, decode, detect, is_binary
from agent.files.tracker import Editor, EditorRefused, FileTracker
from agent.files.transaction import FileStep, FileStepFailed, PutFile, RemoveFile, change_all

__all__ = [
    "Editor",
    "EditorRefused",
    "FileContent",
    "FileStamp",
    "FileStep",
    "FileStepFailed",
    "FileTracker",
    "PutFile",
    "RemoveFile",
    "TextFile",
    "change_all",
    "decode",
    "detect",
    "is_binary",
    "load",
    "printable",
    "replace_file",
    "run_to_end",
    "stamp_of",
]
