"""An explorer in a process of its own, and requests to it as a browser sends them."""

import http.client
import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest


class Explorer:
    """A server of `residuum explore` in a process of its own."""

    def __init__(self, *words):
        command = [sys.executable, "-m", "residuum", "explore", "--no-browser", "--json", *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        said = ""
        while not said.endswith("}\n"):
            line = self.process.stdout.readline()
            assert line, "the explorer has not started"
            said += line
        self.address = json.loads(said)["address"]
        self.host = urlsplit(self.address).netloc
        answered = self.request("GET", self.address.removeprefix(f"http://{self.host}"), cookie="")
        self.cookie = answered.getheader("set-cookie").split(";")[0]

    def request(self, method, path, body=None, *, cookie=None, **headers):
        """Return the response to a request; its body is in `content`."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        sent = {"Cookie": self.cookie if cookie is None else cookie}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        response.content = response.read()
        connection.close()
        return response

    def ask(self, task, body, **headers):
        """Return the lines of the answer to a task."""
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"content_type": "application/json"} | headers
        response = self.request("POST", f"/tasks/{task}", body, **headers)
        assert response.status == 200, response.content
        return [json.loads(line) for line in response.content.splitlines()]

    def workers(self):
        """Return the process ids of the workers."""
        children = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(children, encoding="ascii") as file:
            return [int(one) for one in file.read().split()]

    def stop(self):
        """Press Ctrl-C, and return the exit code."""
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=10)
        self.process.stdout.close()
        return code


def is_running(process_id):
    """Whether a process still runs; one that has ended, but was not waited for, does not."""
    try:
        with open(f"/proc/{process_id}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextmanager
def running_explorer():
    """Yield an explorer, which is stopped afterwards; skip the test where none can run."""
    pytest.importorskip("starlette", reason="Starlette is not installed")
    pytest.importorskip("uvicorn", reason="Uvicorn is not installed")
    if not os.path.isdir("/proc"):
        pytest.skip("there is no /proc, in which workers are found")
    running = Explorer()
    try:
        yield running
    finally:
        if running.process.poll() is None:
            running.stop()
