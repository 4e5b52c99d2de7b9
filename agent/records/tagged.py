"""Unions of records that are told apart by a field."""

from typing import Annotated, Any


class Tagged:
    """In ``Annotated[A | B, Tagged("kind")]``, the field whose value names the record.

    Pydantic then reads a record by its tag instead of trying one class after the other, which takes
    a tenth of the time. It is imported only when it asks.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic import Field  # kept off the start-up path

        return handler.generate_schema(Annotated[source, Field(discriminator=self.name)])
