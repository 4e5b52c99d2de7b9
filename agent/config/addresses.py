"""Addresses of servers."""


def is_near(host: str) -> bool:
    """Return whether *host* is this machine or an address of a private network: such servers need
    no TLS, and seldom a key."""
    from ipaddress import ip_address  # only for servers that the user or a project defines

    if host == "localhost" or host.endswith(".local"):
        return True
    try:
        return ip_address(host).is_private
    except ValueError:
        return False
