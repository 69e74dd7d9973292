"""Headless Chromium, driven over a pipe: no port, no driver, no library."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile

QUIET = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
PATIENCE = 120  # seconds; a browser that hangs must not hang the tests


def find_browser():
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page of a browser: `call` sends a command of the DevTools protocol."""

    def __init__(self, program):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        commands, self._send = os.pipe()
        self._receive, answers = os.pipe()

        def take_its_ends():  # the browser reads from 3 and writes to 4
            kept = os.dup(commands), os.dup(answers)
            for end, number in zip(kept, (3, 4), strict=True):
                os.dup2(end, number)
                os.set_inheritable(number, True)  # where it had that number before, it is not

        self._process = subprocess.Popen(
            [program, *QUIET, f"--user-data-dir={self._profile.name}", "about:blank"],
            preexec_fn=take_its_ends,
            close_fds=False,  # Python's own are closed by themselves
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self._numbers = itertools.count(1)
        self._kept = b""
        self._session = None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._send, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width, height=900, *, scheme="light"):
        """Show a page anew in a window of this size, and forget what happened before."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)  # fmt: skip
        self.call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._next())

    def evaluate(self, script):
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def screenshot(self, selector=None):
        """Return the page, or one element of it, as a PNG."""
        box = self.evaluate(
            f"(e => {{const b = e.getBoundingClientRect(); return {{x: b.x + scrollX, "
            f"y: b.y + scrollY, width: b.width, height: b.height, scale: 1}}}})"
            f"(document.querySelector({json.dumps(selector or 'html')}))"
        )
        found = self.call("Page.captureScreenshot", clip=box, captureBeyondViewport=True)
        return base64.b64decode(found["data"])

    def close(self):
        os.close(self._send)
        os.close(self._receive)
        self._process.kill()
        self._process.wait()
        self._profile.cleanup()

    def _next(self):
        while b"\0" not in self._kept:
            ready, _, _ = select.select([self._receive], [], [], PATIENCE)
            assert ready, "the browser has said nothing for a long time"
            part = os.read(self._receive, 1 << 16)
            assert part, "the browser has gone"
            self._kept += part
        message, _, self._kept = self._kept.partition(b"\0")
        return json.loads(message)
