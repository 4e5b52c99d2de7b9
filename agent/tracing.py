"""Spans of the agent's work, by OpenTelemetry's conventions for generative AI.

Nothing is imported and nothing recorded unless tracing was set up: by a program that embeds the
agent and has installed a tracer provider, or by the user with OpenTelemetry's own variables
(``OTEL_TRACES_EXPORTER``, ``OTEL_EXPORTER_OTLP_ENDPOINT``). Content is never recorded, only names,
counts, costs and outcomes.
"""

import importlib
import logging
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import Any, TypeAlias

Attribute: TypeAlias = str | int | float | bool | tuple[str, ...] | None

CONFIGURED = ("OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT")
NAME = "opencode-py"

log = logging.getLogger(__name__)


class Span:
    """A span of OpenTelemetry's (*inner*), or one that records nothing."""

    def __init__(self, inner: Any = None) -> None:
        self._inner = inner

    def set(self, **attributes: Attribute) -> None:
        """Add *attributes*; a double underscore represents a dot, None is ignored."""
        if self._inner is not None:
            for name, value in attributes.items():
                if value is not None:
                    self._inner.set_attribute(name.replace("__", "."), value)

    def failed(self, kind: str, message: str) -> None:
        """Mark the span as failed."""
        if self._inner is not None:
            codes = importlib.import_module("opentelemetry.trace").StatusCode
            self._inner.set_attribute("error.type", kind)
            self._inner.set_status(codes.ERROR, message)


class Tracing:
    """Creates spans."""

    def __init__(self, env: Mapping[str, str]) -> None:
        """*env* is the environment that the program was started with."""
        wanted = any(env.get(name) for name in CONFIGURED)
        self._requested = wanted and env.get("OTEL_TRACES_EXPORTER") != "none"
        self._tracer: Any = None
        self._looked = False

    @contextmanager
    def span(self, name: str, **attributes: Attribute) -> Generator[Span, None, None]:
        """Open a span around a block; an exception marks it as failed and is raised again."""
        tracer = self._find_tracer()
        if tracer is None:
            yield Span()
            return
        with tracer.start_as_current_span(name) as inner:
            span = Span(inner)
            span.set(**attributes)
            yield span

    def _find_tracer(self) -> Any:
        """Return the tracer, None while tracing is not set up. Looks for it until it is found."""
        if self._looked:
            return self._tracer
        if not self._requested and "opentelemetry.trace" not in sys.modules:
            return None
        self._looked = True
        try:
            trace = importlib.import_module("opentelemetry.trace")
        except ImportError:
            log.warning("tracing was asked for, but opentelemetry-api is not installed")
            return None
        if self._requested:
            _set_up(trace)
        self._tracer = trace.get_tracer(NAME)
        return self._tracer


def _set_up(trace: Any) -> None:
    """Install the SDK with the exporters of the user's variables, unless there is a provider.

    Console exporters take the standard output that they find when they are loaded. They get
    standard error: answers, JSON lines and the protocol of editors are on standard output.
    """
    try:
        with redirect_stdout(sys.stderr):
            configure = importlib.import_module("opentelemetry.sdk._configuration")
    except ImportError:
        log.warning("tracing was asked for: install opentelemetry-sdk and an exporter beside us")
        return
    if type(trace.get_tracer_provider()).__name__ == "ProxyTracerProvider":
        try:
            with redirect_stdout(sys.stderr):
                configure._initialize_components()
        except (RuntimeError, ValueError, ImportError) as error:
            log.warning("tracing could not be set up: %s", error)
