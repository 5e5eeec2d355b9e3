"""Tries the page of the program anatomy in a headless Firefox, from a file without a server, by the protocol WebDriver BiDi that Firefox speaks itself.

    firefox.py      needs what `make page` writes and `make test-lab` sets up; FIREFOX names the browser, if it is not on the PATH

All files of a report are those of the program on this machine, byte by byte; nothing is asked of a network, and nothing is wider than a phone. Where
there is no Firefox the test says so and is left out.
"""
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import websocket

from browse import DATA, FILES, PAGE, native


class Firefox:
    """A headless Firefox with one page."""

    def __init__(self, program, folder):
        log, profile = folder / "log", folder / "profile"
        profile.mkdir()
        with open(log, "w") as said:
            self.process = subprocess.Popen([program, "--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"],
                                            env=dict(os.environ, HOME=str(folder)), stdout=said, stderr=said)
        end = time.monotonic() + 120
        while not (address := re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text())):
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                raise SystemExit(f"Firefox does not speak WebDriver BiDi: {log.read_text()}")
            time.sleep(0.2)
        self.socket = websocket.create_connection(address[1] + "/session", timeout=300, suppress_origin=True)
        self.number, self.requests = itertools.count(1), []
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["network.beforeRequestSent"])
        self.page = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def call(self, method, **params):
        """What a command of the protocol returns; requests of the page are kept."""
        number = next(self.number)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("method") == "network.beforeRequestSent":
                self.requests.append(answer["params"]["request"]["url"])
            if answer.get("id") == number:
                assert answer["type"] == "success", answer
                return answer["result"]

    def run(self, script):
        """What a script of the page returns."""
        answer = self.call("script.evaluate", expression=script, target={"context": self.page}, awaitPromise=True)
        assert answer["type"] == "success", answer["exceptionDetails"]["text"]
        return answer["result"]

    def json(self, script):
        return json.loads(self.run(f"JSON.stringify({script})")["value"])

    def wait(self, script, seconds):
        end = time.monotonic() + seconds
        while not self.json(script):
            assert time.monotonic() < end, f"{script} did not become true; the page says {self.json('document.body.innerText.slice(0, 3000)')}"
            time.sleep(0.2)

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait()


def main():
    program = next(filter(None, map(shutil.which, (os.environ.get("FIREFOX") or "firefox", "firefox-esr"))), None)
    if not program:
        print("  not tried in Firefox, since there is none: Debian `apt-get install firefox-esr`; another place: FIREFOX=/path/to/firefox")
        return
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        firefox = Firefox(program, folder)
        try:
            firefox.call("browsingContext.navigate", context=firefox.page, url=PAGE.as_uri(), wait="complete")
            firefox.wait('$("status").textContent == "Ready."', 60)
            field = firefox.run('$("data")')
            firefox.call("input.setFiles", context=firefox.page, element={"sharedId": field["sharedId"]}, files=[str(DATA)])
            model = "size + species*site"
            firefox.run(f'$("model").value = {json.dumps(model)}; $("report").click(); 0')
            firefox.wait('$("status").textContent.startsWith("Done in") || $("error").textContent', 300)
            print("  in Firefox:", firefox.json('$("status").textContent'))
            got = {name: bytes(b) for name, b in firefox.json(f"({FILES})()").items()}
            want = native(folder / "native", "--model", model)
            assert all(got[name] == data for name, data in want.items()), [name for name in want if got.get(name) != want[name]]
            print(f"  all {len(want)} files are the program's to the last byte")
            firefox.call("browsingContext.setViewport", context=firefox.page, viewport={"width": 390, "height": 800})
            firefox.wait("innerWidth == 390", 10)
            assert firefox.json("document.documentElement.scrollWidth") <= 390
            asked = [url for url in firefox.requests if not url.startswith(("file:", "blob:", "data:", "about:"))]
            assert not asked, asked
        finally:
            firefox.close()


if __name__ == "__main__":
    main()
