"""A headless Chromium, driven through chromedriver's HTTP interface: pages at any width, light and dark."""
import base64
import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request


def find():
    """The browser and its driver; None where they are not there."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Browser:
    def __init__(self):
        browser, driver = find()
        self.folder = tempfile.TemporaryDirectory()
        port = free_port()
        self.base = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen([driver, f"--port={port}"], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        try:
            self._wait()
            options = {"binary": browser, "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                "--disable-dev-shm-usage", f"--user-data-dir={self.folder.name}"]}
            answer = self._post("/session", {"capabilities": {"alwaysMatch": {
                "browserName": "chrome", "goog:chromeOptions": options}}})
            self.base += "/session/" + answer["sessionId"]
        except BaseException:
            self.process.terminate()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            request = urllib.request.Request(self.base, method="DELETE")
            urllib.request.urlopen(request, timeout=30).close()
        except OSError:
            pass
        self.process.terminate()
        self.process.wait(30)
        try:
            self.folder.cleanup()
        except OSError:
            shutil.rmtree(self.folder.name, ignore_errors=True)

    def _wait(self):
        for _ in range(200):
            try:
                with urllib.request.urlopen(self.base + "/status", timeout=5):
                    return
            except OSError:
                time.sleep(0.1)
        raise OSError("chromedriver does not answer")

    def _post(self, path, value):
        request = urllib.request.Request(self.base + path, json.dumps(value).encode(),
                                         {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise OSError(error.read().decode()[:500]) from error

    def protocol(self, command, **parameters):
        """A command of Chromium's own protocol."""
        return self._post("/goog/cdp/execute", {"cmd": command, "params": parameters})

    def look(self, width, height=900, dark=False, scripts=True):
        self.protocol("Emulation.setDeviceMetricsOverride", width=width, height=height,
                      deviceScaleFactor=1, mobile=False)
        self.protocol("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.protocol("Emulation.setScriptExecutionDisabled", value=not scripts)

    def open(self, path):
        self._post("/url", {"url": "file://" + os.path.abspath(path)})

    def run(self, script, *arguments):
        return self._post("/execute/sync", {"script": script, "args": list(arguments)})

    def picture(self, whole=False):
        """A PNG of what is seen, or of all of the page."""
        data = self.protocol("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(data["data"])

    def errors(self):
        """What the page complained about."""
        return [line["message"] for line in self._post("/se/log", {"type": "browser"})]
