"""The kernel tells who is at the other end of a connection on this machine."""

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memory_butler.adapters.http import peer
from memory_butler.adapters.http.peer import Peer, is_foreign_server


@contextmanager
def connection(host: str) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a connection: the client's, then the server's."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with (
        socket.create_server((host, 0), family=family) as listener,
        socket.create_connection(listener.getsockname()[:2]) as client,
        listener.accept()[0] as accepted,
    ):
        yield client, accepted


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "127.0.0.9"])
def test_the_own_account_is_recognised(host: str) -> None:
    """Over both versions of IP."""
    with connection(host) as (client, accepted):
        assert Peer(accepted).is_own_account
        assert Peer(client).is_own_account


def test_a_closed_client_is_not_taken_for_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel shows user 0 for it; only a server of root could mistake that for its own account."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with connection("127.0.0.1") as (client, accepted):
        client.close()
        assert not Peer(accepted).is_own_account


def test_the_answer_for_a_connection_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel is asked once."""
    with connection("127.0.0.1") as (_, accepted):
        found = Peer(accepted)
        assert found.is_own_account
        monkeypatch.setattr(peer, "_lines", lambda family: [])
        assert found.is_own_account
        assert not Peer(accepted).is_own_account


def test_a_connection_that_the_kernel_does_not_know_is_nobodys() -> None:
    """Neither without a socket nor with one that is not connected."""
    assert not Peer(None).is_own_account
    assert not Peer(None).is_unix
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as alone:
        assert not Peer(alone).is_own_account


LINE = "1: 0100007F:9839 0100007F:BDE0 {state} 00000000:00000000 00:00000000 00000000 {owner} 0 1157085"


@pytest.mark.parametrize(
    ("own", "owner", "state", "trusted"),
    [
        (1000, 1000, "01", True),
        (1000, 1000, "08", True),
        (1000, 1001, "01", False),
        (1000, 0, "01", True),
        (1000, 0, "05", False),
        (1000, 0, "06", False),
        (0, 0, "01", True),
        (0, 0, "05", False),
        (0, 1000, "01", False),
    ],
)
def test_who_is_trusted(monkeypatch: pytest.MonkeyPatch, own: int, owner: int, state: str, trusted: bool) -> None:
    """The own account and root."""
    monkeypatch.setattr(os, "geteuid", lambda: own)
    assert peer._is_trusted(LINE.format(state=state, owner=owner).split()) is trusted


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0", "::1"])
def test_a_listener_of_another_account_is_seen(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """Not so one of our own, of root, or none."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    asked = "::1" if ":" in host else "127.0.0.1"
    with socket.create_server((host, 0), family=family) as listener:
        port = listener.getsockname()[1]
        assert not is_foreign_server(asked, port)
        monkeypatch.setattr(peer, "ROOT", -1)
        assert not is_foreign_server(asked, port)
        own = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: own + 1)
        assert is_foreign_server(asked, port)
    assert not is_foreign_server(asked, port)
