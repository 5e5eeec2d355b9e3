"""Runs the kernel for long and kills what runs, and reports what is left behind: soak.py [RESTARTS CELLS KILLS], or soak.py race

    restarts    100 restarts of a kernel, each with one cell, every fifth of them killed
    cells       1000 cells in one kernel; a broken one, a picture or a value of another cell now and then
    kills       20 report runs, each killed with all it started at a random moment; then two runs at once

    race        instead of these the tests of all packages with Go's race detector, which take hours
"""
import contextlib
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

from jupyter_client.manager import start_new_kernel

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = [sys.executable, ROOT / "notebooks" / "report" / "run.py"]
STARTED = time.time()
TINY = ROOT / "notebooks" / "1-1_landmarks.ipynb"


def size(folder):
    files = [f for f in pathlib.Path(folder).rglob("*") if f.is_file() and not f.is_symlink()]
    return f"{len(files)} files, {sum(f.stat().st_size for f in files) / 1e6:.1f} MB"


def memory(group):
    """Megabytes of a kernel, by program."""
    used = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = stat.read_text().split("(", 1)[1].rsplit(")", 1)
            fields = rest.split()
            if group in (int(fields[1]), int(fields[2])):  # the parent, the group
                used[name] = used.get(name, 0) + int(fields[21]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        except (OSError, IndexError):
            pass
    return ", ".join(f"{name} {mb:.0f} MB" for name, mb in sorted(used.items()))


def start(folder):
    return start_new_kernel(kernel_name="anatomy", cwd=str(ROOT / "notebooks"), env=dict(os.environ, TMPDIR=str(folder)))


def execute(client, code):
    text = []

    def hook(message):
        content = message["content"]
        text.append(content.get("text", "") or content.get("data", {}).get("text/plain", ""))
    reply = client.execute_interactive(code, timeout=120, output_hook=hook)
    return reply["content"]["status"], "".join(text)


def restarts(count, folder):
    manager, client = start(folder)
    took = []
    for i in range(count):
        begin = time.monotonic()
        manager.restart_kernel(now=i % 5 == 4)
        client.wait_for_ready(timeout=60)
        took.append(time.monotonic() - begin)
        assert execute(client, f"%%\nfmt.Print({i})") == ("ok", str(i)), i
    print(f"{count} restarts: median {statistics.median(took):.2f} s, longest {max(took):.2f} s")
    print(f"  with the last kernel running: {size(folder)}; {memory(manager.provisioner.pgid)}")
    client.stop_channels()
    manager.shutdown_kernel()
    print(f"  after its end: {size(folder)}")


def cells(count, folder):
    manager, client = start(folder)
    group = manager.provisioner.pgid
    took = []
    for i in range(count):
        begin = time.monotonic()
        if i % 50 == 10:
            assert execute(client, f"%%\nviz.Nothing({i})")[0] == "error"
        elif i % 50 == 20:
            assert execute(client, f'%%\nviz.Show(viz.Outline(morpho.CorpusCallosum().Shape("jhu_atlas"))) // {i}')[0] == "ok"
        elif i % 50 == 30:
            assert execute(client, f"k := make([]float64, {i})") == ("ok", "") and execute(client, "k[0]") == ("ok", "0")
        else:
            assert execute(client, f"func f{i % 100}() int {{ return {i} }}\n%%\nfmt.Print(f{i % 100}())") == ("ok", str(i)), i
            took.append(time.monotonic() - begin)
        if i in (count // 10, count - 1):
            print(f"  after {i + 1} cells: {size(folder)}; {memory(group)}")
    print(f"{count} cells: median of the small ones {statistics.median(took):.2f} s, longest {max(took):.2f} s")
    client.stop_channels()
    manager.shutdown_kernel()
    print(f"  after the kernel's end: {size(folder)}")


def reports():
    """The reports of the notebook, by name, or what is wrong with them."""
    found = {}
    for f in (ROOT / "notebooks" / "reports").glob(TINY.stem + ".*"):
        data = f.read_bytes()
        whole = data.startswith(b"%PDF") and b"%%EOF" in data[-64:] if f.suffix == ".pdf" else data.rstrip().endswith(b"</html>")
        assert whole, f"{f} is cut"
        found[f.name] = f.stat().st_mtime_ns
    return found


def left():
    """What killed runs have left behind."""
    time.sleep(3)  # a kernel looks after its parent every second
    running = 0
    for exe in pathlib.Path("/proc").glob("[0-9]*/exe"):
        with contextlib.suppress(OSError):
            running += os.readlink(exe) == str(ROOT / ".anatomy" / "bin" / "gonb")
    files = [f for f in pathlib.Path(tempfile.gettempdir()).glob("tmp*.json") if f.stat().st_mtime > STARTED]  # of connections, with keys
    return f"{len(list((ROOT / '.anatomy').glob('run-*')))} folders in .anatomy, {running} kernels running, {len(files)} files of connections"


def kills(count):
    begin = time.monotonic()
    subprocess.run([*RUN, TINY], check=True, stdout=subprocess.DEVNULL)
    whole = time.monotonic() - begin
    before = reports()
    assert len(before) == 2, before
    replaced = 0
    for _ in range(count):
        run = subprocess.Popen([*RUN, TINY], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        time.sleep(random.uniform(0, whole))
        how = random.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
        if how == signal.SIGKILL:
            os.killpg(run.pid, how)
        else:
            run.send_signal(how)
        run.wait(60)
        after = reports()
        assert after.keys() == before.keys(), after
        replaced += after != before
        before = after
    print(f"{count} report runs killed: reports whole every time, {replaced} times new; left behind: {left()}")
    two = [subprocess.Popen([*RUN, TINY], stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [p.wait(600) for p in two] == [0, 0]
    reports()
    print(f"two runs at once: both passed; left behind: {left()}")


def main():
    if sys.argv[1:] == ["race"]:
        sys.exit(subprocess.run(["go", "test", "-race", "-vet=off", "-timeout=6h", "./..."], cwd=ROOT, env=dict(os.environ, GOWORK="off")).returncode)
    counts = [int(a) for a in sys.argv[1:]] or [100, 1000, 20]
    with tempfile.TemporaryDirectory() as folder:
        restarts(counts[0], pathlib.Path(folder))
    with tempfile.TemporaryDirectory() as folder:
        cells(counts[1], pathlib.Path(folder))
    kills(counts[2])


if __name__ == "__main__":
    main()
