"""A browser for tests: Chromium over its debugging pipe, with nothing but the standard library."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FLAGS = (
    "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-quic",
    "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--disable-extensions",
    "--disable-dev-shm-usage", "--no-default-browser-check", "--force-color-profile=srgb",
)  # fmt: skip
PATIENCE = 60
KEYS = {
    "Tab": 9, "Enter": 13, " ": 32, "ArrowUp": 38, "ArrowDown": 40, "Home": 36, "End": 35,
}  # fmt: skip


def found():
    """Where a Chromium is on this machine; None without one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """A running Chromium. Commands and answers are JSON, each ended by a 0, over two pipes."""

    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="browser-")
        (their_in, self.into), (self.out, their_out) = os.pipe(), os.pipe()
        theirs = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (their_in, their_out)]  # clear of 3 and 4
        os.close(their_in)
        os.close(their_out)
        null = os.open(os.devnull, os.O_RDWR)
        ends = [(os.POSIX_SPAWN_DUP2, null, place) for place in (0, 1, 2)]
        ends += [(os.POSIX_SPAWN_DUP2, end, place) for end, place in zip(theirs, (3, 4), strict=True)]
        command = [found(), *FLAGS, f"--user-data-dir={self.profile}", "about:blank"]
        self.process = os.posix_spawn(command[0], command, dict(os.environ), file_actions=ends, setsid=True)
        for end in (*theirs, null):
            os.close(end)
        self.count, self.rest, self.events = 0, b"", []

    def send(self, method, session=None, **params):
        """The answer to a command; what else is told meanwhile is kept in `events`."""
        self.count += 1
        number = self.count
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.into, data) :]
        while True:
            told = self.read()
            if told.get("id") == number:
                assert "error" not in told, f"{method}: {told['error']}"
                return told["result"]
            self.events.append(told)

    def read(self):
        """The next message."""
        until = time.monotonic() + PATIENCE
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.out], [], [], max(0, until - time.monotonic()))
            assert ready, f"the browser said nothing for {PATIENCE} s"
            piece = os.read(self.out, 1 << 20)
            assert piece, "the browser ended"
            self.rest += piece
        message, _, self.rest = self.rest.partition(b"\0")
        return json.loads(message)

    def wait(self, session, method):
        """An event of a page, once."""
        while True:
            for told in self.events:
                if told.get("sessionId") == session and told["method"] == method:
                    self.events.remove(told)
                    return told["params"]
            self.events.append(self.read())

    def close(self):
        """End it and remove its profile."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.into)
        os.close(self.out)
        shutil.rmtree(self.profile, ignore_errors=True)


class Tab:
    """A page of its own profile, with what it asked for and complained of."""

    def __init__(self, browser, width=1200, height=900):
        self.browser = browser
        self.context = browser.send("Target.createBrowserContext")["browserContextId"]
        made = browser.send("Target.createTarget", url="about:blank", browserContextId=self.context)
        attached = browser.send("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.resize(width, height)

    def send(self, method, **params):
        """The answer to a command for this page."""
        return self.browser.send(method, self.session, **params)

    def open(self, address):
        """Load an address, until it has loaded."""
        self.send("Page.navigate", url="about:blank")
        self.browser.wait(self.session, "Page.loadEventFired")
        answer = self.send("Page.navigate", url=address)
        assert "errorText" not in answer, answer["errorText"]
        self.browser.wait(self.session, "Page.loadEventFired")
        return self

    def evaluate(self, script):
        """What a script comes to, as JSON would say it."""
        told = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]["exception"].get("description", told)
        return told["result"].get("value")

    def call(self, function, *values):
        """What a function of the page comes to."""
        return self.evaluate(f"({function})({', '.join(json.dumps(one) for one in values)})")

    def resize(self, width, height=900):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)  # fmt: skip

    def media(self, kind="", scheme="light"):
        """Show it as on paper (``print``), or in the dark."""
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=kind, features=features)

    def press(self, key):
        """Press a key, as a reader does."""
        code = {"key": key, "windowsVirtualKeyCode": KEYS[key]}
        code["code"] = "Space" if key == " " else key
        self.send("Input.dispatchKeyEvent", type="rawKeyDown", **code)
        self.send("Input.dispatchKeyEvent", type="keyUp", **code)

    def type(self, text):
        """Type a text where the focus is, letter by letter."""
        for letter in text:
            self.send("Input.dispatchKeyEvent", type="char", text=letter)

    def picture(self):
        """A picture of the page, as PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"])

    def printed(self):
        """The page as PDF."""
        return base64.b64decode(self.send("Page.printToPDF", preferCSSPageSize=True)["data"])

    @property
    def told(self):
        """Events of this page so far."""
        self.evaluate("1")
        return [one for one in self.browser.events if one.get("sessionId") == self.session]

    def requests(self):
        """Addresses that the page asked for."""
        asked = [one for one in self.told if one["method"] == "Network.requestWillBeSent"]
        return [one["params"]["request"]["url"] for one in asked]

    def complaints(self):
        """What stands on the console: errors, warnings, words."""
        kinds = {"Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"}
        return [json.dumps(one["params"])[:400] for one in self.told if one["method"] in kinds]

    def close(self):
        """End it."""
        self.browser.send("Target.disposeBrowserContext", browserContextId=self.context)
