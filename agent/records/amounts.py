"""Amounts as text for users: 2.1k tokens, $0.42, 6 turns, 1m 12s."""


def tokens(count: int) -> str:
    """Format a token count: ``950``, ``2.1k``, ``128k``, ``1.2M``."""
    if count < 1000:
        return str(count)
    if count < 99_950:
        return f"{count / 1000:.1f}k"
    return f"{count / 1000:.0f}k" if count < 999_500 else f"{count / 1_000_000:.1f}M"


def money(dollars: float | None) -> str:
    """Format US dollars to the cent, ``$0.42``, and less than a cent to its hundredth, ``$0.0034``.
    An unknown cost is a dash, never a made-up zero."""
    if dollars is None:
        return "–"
    if dollars == 0 or round(dollars, 4) >= 0.01:
        return f"${dollars:.2f}"
    return f"${dollars:.4f}" if dollars >= 0.00005 else "<$0.0001"


def price(dollars: float | None) -> str:
    """Return a price per million tokens (``$3.00``, ``$0.125``), or a dash if it is unknown."""
    if dollars is None:
        return "–"
    return f"${max(f'{dollars:.2f}', f'{dollars:.4g}', key=len)}"


def duration(seconds: float) -> str:
    """Return a duration such as ``4s``, ``1m 12s`` or ``2h 3m``."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60}s"
    return f"{whole // 3600}h {whole % 3600 // 60}m"


def count(number: int, thing: str) -> str:
    """Return a number with its noun: ``1 turn``, ``6 turns``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
