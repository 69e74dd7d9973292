"""Starting the explorer: a port on the loopback, the server, and its end."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

import uvicorn

from residuum.errors import ResiduumError
from residuum.explorer.app import make_app
from residuum.explorer.security import new_token


def serve(
    announce: Callable[[str], None], *, port: int = 0, opened: dict[str, str] | None = None
) -> None:
    """Serve the explorer until Ctrl-C, and raise KeyboardInterrupt then.

    `announce` gets the address once the server answers. Port 0 stands for any free one.
    """
    token = new_token()
    with _listen(port) as listening:
        port = listening.getsockname()[1]
        server = _Server(
            uvicorn.Config(
                make_app(token, port, opened),
                log_config=None,
                log_level="critical",
                access_log=False,
                server_header=False,
                ws="none",
                timeout_graceful_shutdown=0,  # Ctrl-C also ends what is being computed
                limit_concurrency=100,
            )
        )
        server.when_started = lambda: announce(f"http://127.0.0.1:{port}/?token={token}")
        server.run([listening])
        # Only Ctrl-C ends the server, but its signal may come too late to raise this by itself.
        raise KeyboardInterrupt


class _Server(uvicorn.Server):
    """A server that tells when it answers."""

    when_started: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer."""
        await super().startup(sockets)
        self.when_started()


def _listen(port: int) -> socket.socket:
    # asyncio sends small parts of an answer at once only if the socket names its protocol.
    listening = socket.socket(proto=socket.IPPROTO_TCP)
    if os.name == "posix":  # elsewhere the option would let two servers share a port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError as error:
        listening.close()
        raise ResiduumError(
            f"expected a free port, but {port} cannot be used: {error.strerror}; choose another "
            "with --port, or leave it out"
        ) from None
    return listening
