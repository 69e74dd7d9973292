"""Who is let in: hosts, origins, tokens, and the headers of every response."""

import asyncio

import pytest

from residuum.explorer.security import HEADERS, TOKEN_BYTES, Guard, new_token

TOKEN = new_token()
HOST = (b"host", b"127.0.0.1:7000")
COOKIE = (b"cookie", f"residuum-7000={TOKEN}".encode())


def asked(*headers, path="/", query=b""):
    """Return the status and the headers of the response, and whether the application was asked."""
    sent, reached = [], []

    async def application(scope, _, send):
        reached.append(scope["path"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def send(event):
        sent.append(event)

    scope = {"type": "http", "path": path, "query_string": query, "headers": list(headers)}
    asyncio.run(Guard(application, TOKEN, 7000)(scope, None, send))
    return sent[0]["status"], sent[0]["headers"], bool(reached)


def test_tokens_have_32_random_bytes_and_differ():
    assert TOKEN_BYTES == 32
    assert len(TOKEN) == 43  # 6 bits in each character
    assert len({new_token() for _ in range(100)}) == 100


@pytest.mark.parametrize("host", [b"127.0.0.1:7000", b"localhost:7000"])
def test_requests_with_the_cookie_are_let_in(host):
    assert asked((b"host", host), COOKIE) == (200, list(HEADERS), True)
    origin = (b"origin", b"http://" + host)
    assert asked((b"host", host), origin, COOKIE)[2]


@pytest.mark.parametrize(
    "headers",
    [
        [COOKIE],
        [(b"host", b"127.0.0.1"), COOKIE],
        [(b"host", b"127.0.0.1:7001"), COOKIE],
        [(b"host", b"evil.example:7000"), COOKIE],
        [(b"host", b"127.0.0.1:7000.evil.example"), COOKIE],
        [(b"host", b"LOCALHOST:7000"), COOKIE],
        [HOST, (b"host", b"evil.example"), COOKIE],
        [HOST, (b"origin", b"null"), COOKIE],
        [HOST, (b"origin", b"http://evil.example"), COOKIE],
        [HOST, (b"origin", b"https://127.0.0.1:7000"), COOKIE],
        [HOST, (b"origin", b"http://127.0.0.1:7001"), COOKIE],
        [HOST, (b"origin", b"http://127.0.0.1:7000"), (b"origin", b"http://evil.example"), COOKIE],
        [HOST],
        [HOST, (b"cookie", b"")],
        [HOST, (b"cookie", b"residuum-7000=")],
        [HOST, (b"cookie", b"residuum-7000=" + TOKEN[:-1].encode())],
        [HOST, (b"cookie", b"residuum-7001=" + TOKEN.encode())],
        [HOST, (b"cookie", b"\xff\xfe;;=;residuum-7000")],
        [HOST, (b"cookie", b"residuum-7000=\xe9\xff")],
    ],
)
def test_all_others_are_refused_before_the_application(headers):
    status, found, reached = asked(*headers)
    assert (status, reached) == (403, False)
    assert set(HEADERS) <= set(found)


def test_the_address_with_the_token_gives_a_cookie_and_an_address_without_it():
    status, headers, reached = asked(HOST, query=f"token={TOKEN}".encode())
    found = dict(headers)
    assert (status, reached, found[b"location"]) == (303, False, b"/")
    cookie, *attributes = found[b"set-cookie"].decode().split("; ")
    assert cookie == f"residuum-7000={TOKEN}"
    assert set(attributes) == {"Path=/", "HttpOnly", "SameSite=Strict"}


@pytest.mark.parametrize("query", [b"token=", b"token=x", b"token=%ff", b"token", b"x" * 10000])
def test_other_addresses_give_none(query):
    status, headers, _ = asked(HOST, query=query)
    assert status == 403
    assert b"set-cookie" not in dict(headers)


def test_a_token_counts_on_the_first_page_only():
    assert asked(HOST, path="/tasks/start", query=f"token={TOKEN}".encode())[0] == 403


def test_the_policy_allows_nothing_but_files_of_the_page():
    policy = dict(HEADERS)[b"content-security-policy"].decode()
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules.pop("default-src") == "'none'"
    own = ["script-src", "style-src", "img-src", "connect-src"]
    assert {rules.pop(one) for one in own} == {"'self'"}
    closed = ["base-uri", "form-action", "frame-ancestors"]
    assert {rules.pop(one) for one in closed} == {"'none'"}
    assert rules == {"require-trusted-types-for": "'script'"}
