"""Who may talk to the explorer: requests of its own page alone, with the token.

The address that the command prints holds the token. The first request with it gets a cookie, and is
sent on to the address without it, so that the token is in no link that a user copies. Host and
Origin are checked, so that no other page can ask, whatever name it has for this machine.
"""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final
from urllib.parse import parse_qs

TOKEN_BYTES: Final = 32

POLICY: Final = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    b"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    b"require-trusted-types-for 'script'"
)
"""What the page may load and do. Trusted types forbid it to read any text as HTML."""

HEADERS: Final = (
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)  # fmt: skip
"""Headers of every response."""


def new_token() -> str:
    """Return a random token for the address of the page."""
    return secrets.token_urlsafe(TOKEN_BYTES)


class Guard:
    """An ASGI application in front of another: it lets only allowed requests through."""

    def __init__(self, application: Any, token: str, port: int) -> None:
        self._application = application
        self._token = token.encode()
        self._cookie = f"residuum-{port}"  # cookies do not know ports
        hosts = (f"127.0.0.1:{port}", f"localhost:{port}")
        self._hosts = {host.encode() for host in hosts}
        self._origins = {f"http://{host}".encode() for host in hosts}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._application(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        status, message, headers = self._judge(scope)
        if status:
            await _respond(send, status, message, headers)
            return

        async def send_guarded(event: Any) -> None:
            if event["type"] == "http.response.start":
                event["headers"] = [*event["headers"], *HEADERS]
            await send(event)

        await self._application(scope, receive, send_guarded)

    def _judge(self, scope: Any) -> tuple[int, str, list[tuple[bytes, bytes]]]:
        """Return a status, a message and headers of a refusal; the status is 0 if there is none."""
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return 403, "expected a request to 127.0.0.1 or localhost, got another host", []
        if any(origin not in self._origins for origin in headers.get(b"origin", [])):
            return 403, "expected a request of the explorer's own page, got another origin", []
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if scope["path"] == "/" and self._is_token(asked.encode()):
            cookie = f"{self._cookie}={self._token.decode()}; Path=/; HttpOnly; SameSite=Strict"
            return 303, "", [(b"location", b"/"), (b"set-cookie", cookie.encode())]
        if not self._is_token(self._token_in(headers.get(b"cookie", []))):
            return 403, "expected the address that the command printed; open that one", []
        return 0, "", []

    def _token_in(self, cookies: list[bytes]) -> bytes:
        try:
            found = SimpleCookie("; ".join(one.decode("latin-1") for one in cookies))
        except CookieError:
            return b""
        morsel = found.get(self._cookie)
        return morsel.value.encode("latin-1") if morsel else b""

    def _is_token(self, given: bytes) -> bool:
        return hmac.compare_digest(given, self._token)


async def _respond(
    send: Any, status: int, message: str, headers: list[tuple[bytes, bytes]]
) -> None:
    plain = (b"content-type", b"text/plain; charset=utf-8")
    head = [plain, *headers, *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": f"{message}\n".encode()})
