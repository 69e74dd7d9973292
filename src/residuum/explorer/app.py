"""The explorer as an ASGI application: the files of the page, and the tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from importlib import resources
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from residuum.explorer.limits import BODY_SECONDS
from residuum.explorer.security import Guard
from residuum.explorer.tasks import TASKS, WORKERS
from residuum.explorer.workers import Workers

WARMING: Final = ("formula", b'{"text": "P -> P"}')
"""A task that makes a worker import what most tasks need."""

KINDS: Final = {
    "html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml",
}  # fmt: skip
"""The kinds of files of the page, by their endings."""


def make_app(token: str, port: int, opened: dict[str, str] | None = None) -> Guard:
    """Return the application. `opened` has the name and the text of the file to show, if any."""
    workers = Workers()

    @asynccontextmanager
    async def run_workers(_: Starlette) -> AsyncIterator[None]:
        warm = [asyncio.create_task(workers.warm_up(*WARMING)) for _ in range(WORKERS["formulas"])]
        try:
            yield
        finally:
            for task in warm:
                task.cancel()
            workers.stop()

    async def answer(request: Request) -> Response:
        name = request.path_params["task"]
        if name not in TASKS:
            return PlainTextResponse("no such task\n", 404)
        if request.headers.get("content-type", "").split(";")[0] != "application/json":
            return PlainTextResponse("expected JSON\n", 415)
        body = await _read_body(request, TASKS[name].most_bytes)
        return _Lines(workers.answer(name, body)) if isinstance(body, bytes) else body

    async def show_opened(_: Request) -> Response:
        return JSONResponse(opened)

    files = [Route(path, _shows(*file)) for path, file in _files_of_the_page().items()]
    routes = [
        *files,
        Route("/opened", show_opened),
        Route("/tasks/{task}", answer, methods=["POST"]),
    ]
    application = Starlette(routes=routes, lifespan=run_workers)
    application.router.redirect_slashes = False
    return Guard(application, token, port)


def _files_of_the_page() -> dict[str, tuple[bytes, str]]:
    """Return the content and the media type of each file by its path. Nothing else is served."""
    found = {}
    for file in resources.files("residuum.explorer").joinpath("page").iterdir():
        ending = file.name.rpartition(".")[2]
        if ending in KINDS:
            path = "/" if file.name == "index.html" else f"/{file.name}"
            found[path] = (file.read_bytes(), KINDS[ending])
    return found


def _shows(content: bytes, media_type: str) -> Any:
    async def show(_: Request) -> Response:
        return Response(content, media_type=media_type)

    return show


async def _read_body(request: Request, most: int) -> bytes | Response:
    """Return the body of a request, or a response if it is too large or comes too slowly."""
    received = bytearray()
    try:
        async with asyncio.timeout(BODY_SECONDS):
            async for part in request.stream():
                received += part
                if len(received) > most:
                    return PlainTextResponse(f"expected at most {most:,} bytes\n", 413)
    except TimeoutError:
        return PlainTextResponse(f"expected a request within {BODY_SECONDS:g} s\n", 408)
    except ClientDisconnect:
        return Response(status_code=400)
    return bytes(received)


class _Lines(Response):
    """Lines of JSON, sent as they come. When the page goes away, the work is stopped."""

    media_type = "application/x-ndjson"

    def __init__(self, lines: Any) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._lines = lines

    async def __call__(self, _: Any, receive: Any, send: Any) -> None:
        """Send the lines."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        gone = asyncio.create_task(_until_gone(receive))
        async with aclosing(self._lines):
            while line := await _next_unless(self._lines, gone):
                await send({"type": "http.response.body", "body": line, "more_body": True})
        gone.cancel()
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Any) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _next_unless(lines: AsyncIterator[bytes], gone: asyncio.Task[None]) -> bytes:
    """Return the next line; nothing at the end, or when the page has gone."""
    following = asyncio.ensure_future(anext(lines, b""))
    try:
        await asyncio.wait({following, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        if not following.done():
            following.cancel()
            await asyncio.wait({following})
    return b"" if following.cancelled() else following.result()
