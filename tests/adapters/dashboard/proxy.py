"""A small reverse proxy that ends TLS, as one stands before a service."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def certificate(folder: Path) -> ssl.SSLContext:
    """For `localhost`, signed by nobody but itself."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=True)
        .sign(key, hashes.SHA256())
    )
    plain = serialization.NoEncryption()
    kept = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    (folder / "proxy.pem").write_bytes(kept + signed.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "proxy.pem")
    return context


@asynccontextmanager
async def proxied(port: int, folder: Path, *, keeps_host: bool = True) -> AsyncIterator[str]:
    """Its address. One that does not keep the Host header puts its own idea of it there, as nginx does unasked."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
            upgrades = any(line.lower().startswith("upgrade:") for line in head)
            dropped = ("host:",) * (not keeps_host) + ("connection:",) * (not upgrades)
            head = [line for line in head if not line.lower().startswith(dropped)]
            head += ["X-Forwarded-Proto: https"]
            head += [] if keeps_host else [f"Host: 127.0.0.1:{port}"]
            # A request a connection: what follows a head is then never another one.
            head += [] if upgrades else ["Connection: close"]
            behind, answer = await asyncio.open_connection("127.0.0.1", port)
            answer.write("\r\n".join([*head, "", ""]).encode("latin-1"))
            await asyncio.gather(_pass_on(reader, answer), _pass_on(behind, writer))

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=certificate(folder))
    try:
        yield f"https://localhost:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, ssl.SSLError):
        while piece := await reader.read(65_536):
            writer.write(piece)
            await writer.drain()
    writer.close()
