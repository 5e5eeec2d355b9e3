"""Executes the notebooks, each from nothing in a kernel of its own, and writes their reports to notebooks/reports.

With --data FILE those that call nb.Data compute from one's own landmarks, with --set NAME=VALUE those that call nb.Param
from other parameters. Such reports carry file and parameters in their names and stand beside the standard ones; with
--data, cells with the tag "standard", which speak of the standard data, are left out.

A run fails, and leaves the reports as they were, if a cell fails or exceeds its time, if a shell line or a kernel command
of a cell fails, if a picture or a printed line of a cell is lost, or if a report cannot be made.
"""
import argparse
import asyncio
import contextlib
import datetime
import errno
import fcntl
import hashlib
import importlib.metadata
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
REPORTS = NOTEBOOKS / "reports"
HOME = ROOT / ".anatomy"
JOBS = 2
OWN = "--"  # between the names of a notebook and of one's own data in the name of a report
MESHES = [".ply", ".obj", ".vtk", ".vtp"]  # what mesh.Read reads; all else is for morpho.Read
PLUGINS = ["jax-cuda13-pjrt", "fastatomstruct-xla-cpu", "xla-cpu-pjrt"]


class Failure(Exception):
    pass


def describe(cell, number, message):
    source = "\n".join("    | " + line for line in cell.source.splitlines())
    return f"cell {number}:\n{source}\n{message.strip()}"


def stream(cell, name):
    return report.ANSI.sub("", "".join(o.text for o in cell.outputs if o.output_type == "stream" and o.name == name))


def what_went_wrong(cell):
    """GoNB reports a cell as well done whose shell line failed, and now and then loses what a cell shows."""
    err = stream(cell, "stderr")
    if re.search(r"^exit status \d+$|^signal: ", err, flags=re.M):
        return "a shell line failed:\n" + err
    if re.search(r'^"%.*" unknown or not implemented yet', err, flags=re.M):
        return err
    main = re.split(r"^\s*%%\s*$", cell.source, maxsplit=1, flags=re.M)
    if len(main) == 2:
        shows = re.findall(r"^(?:viz\.Show|nb\.Check|nb\.True|nb\.Printf|gonbui\.Display\w+)\(", main[1], flags=re.M)
        shown = sum(o.output_type in ("display_data", "execute_result") for o in cell.outputs)
        if shown < len(shows):
            return f"output was lost: the cell shows at least {len(shows)} things, {shown} arrived"
        if re.search(r"^fmt\.Print\w*\(", main[1], flags=re.M) and not stream(cell, "stdout"):
            return "output was lost: the cell prints, nothing arrived"


def read(path, data):
    """The notebook, without what it says of the standard data if there are others."""
    nb = nbformat.read(path, as_version=4)
    if data:
        nb.cells = [c for c in nb.cells if "standard" not in c.metadata.get("tags", [])]
    return nb


def code(nb):
    return "\n".join(c.source for c in nb.cells if c.cell_type == "code")


async def execute(nb, path, timeout, folder, data=None, parameters={}):
    """Executes the notebook of a path; folder is for temporary files of the kernel and its cells."""
    client = NotebookClient(nb, kernel_name="anatomy", timeout=timeout, startup_timeout=120,
                            resources={"metadata": {"path": str(path.parent)}})
    manager = client.create_kernel_manager()
    manager.kernel_spec_manager = KernelSpecManager(kernel_dirs=[f"{sys.prefix}/share/jupyter/kernels"])
    with open(folder / "kernel.log", "w+") as log:
        try:
            env = dict(os.environ, TMPDIR=str(folder), ANATOMY_REPORT="1", ANATOMY_DATA=str(data or ""), ANATOMY_SET=json.dumps(parameters))
            await client.async_start_new_kernel(env=env, stdout=log, stderr=log)
            await client.async_start_new_kernel_client()
            for i, cell in enumerate(nb.cells):
                if cell.cell_type != "code":
                    continue
                try:
                    await client.async_execute_cell(cell, i)
                except CellTimeoutError:
                    raise Failure(describe(cell, i + 1, f"not done after {timeout} s"))
                except CellExecutionError as e:
                    raise Failure(describe(cell, i + 1, stream(cell, "stderr") or f"{e.ename}: {e.evalue}"))
                wrong = what_went_wrong(cell)
                if wrong:
                    raise Failure(describe(cell, i + 1, wrong))
        except (DeadKernelError, RuntimeError) as e:
            if asyncio.current_task().cancelling():  # nbclient takes the interruption for the kernel's end
                raise asyncio.CancelledError
            log.seek(0)
            raise Failure(f"the kernel ended: {e}\n{log.read()[-4000:]}")
        finally:
            if client.kc:
                client.kc.stop_channels()
            if manager.has_kernel:
                group = manager.provisioner.pgid
                await manager.shutdown_kernel(now=True)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)  # a cell that outlived its kernel


def output(*args):
    done = subprocess.run(args, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def checksum(*paths):
    h = hashlib.sha256()
    for path in paths:
        h.update(path.read_bytes())
    return h.hexdigest()[:16]


def processor():
    with contextlib.suppress(OSError):
        m = re.search(r"^model name\s*:\s*(.+)$", pathlib.Path("/proc/cpuinfo").read_text(), flags=re.M)
        if m:
            return m.group(1)
    return platform.processor() or platform.machine()


def machine():
    """With what the notebooks are computed here: (name, value) pairs."""
    modules = dict(re.findall(r"^\s+(\S+) v(\S+)", (ROOT / "go.mod").read_text(), flags=re.M))
    commit = output("git", "rev-parse", "--short=12", "HEAD") if shutil.which("git") else ""
    facts = []
    if commit:
        facts.append(("anatomy", f"commit {commit}" + (", changed since" if output("git", "status", "--porcelain", "-uno") else "")))
    facts.append(("Go", output("go", "env", "GOVERSION").removeprefix("go")))
    facts += [(name, modules[module]) for name, module in [("GoMLX", "github.com/gomlx/gomlx"), ("GoNB", "github.com/janpfeifer/gonb")]]
    lines = output("go", "run", "./notebooks/report/backend").splitlines()
    if len(lines) == 3:
        plugin, backend, device = lines
        version = re.search(r" (v[\d.]+)\b", backend)
        facts.append(("back end", "XLA, " + plugged(plugin) + (f", PJRT {version.group(1)}" if version else "")))
        device = re.sub(r" \[processId=\d+\]$", "", device)
        facts.append(("device", f"{device} on {processor()}, {os.cpu_count()} cores" if device.startswith("cpu") else device))
    else:
        facts.append(("device", f"{processor()}, {os.cpu_count()} cores"))
    return facts


def plugged(plugin):
    """The Python package that a plug-in comes from, or its file name."""
    for name in PLUGINS:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            package = importlib.metadata.distribution(name)
            if any(f.name.endswith(".so") and plugin.endswith(str(f)) for f in package.files or []):
                return f"{name} {package.version}"
    return plugin.rsplit("/", 1)[-1]


def provenance(nb, data, parameters, seconds, facts):
    """How a report came about: (name, value) pairs."""
    if data:
        about = [("data", f"{data.name}, SHA-256 {checksum(data)}…")]
    elif "morpho." in code(nb):
        about = [("data", f"those of the project, SHA-256 {checksum(*sorted((ROOT / 'landmarks' / 'morpho' / 'data').glob('*.csv')))}…")]
    else:
        about = []
    if parameters:
        about.append(("parameters", ", ".join(f"{n} = {v}" for n, v in parameters.items())))
    seeds = list(dict.fromkeys(re.findall(r"\b(NewPCG\(\d+, \d+\)|Seed: *\d+)", code(nb))))
    if seeds:
        about.append(("random numbers", ", ".join(s.removeprefix("New") for s in seeds)))
    return about + facts + [("time", f"{seconds:.0f} s")]


def project_authors():
    return re.findall(r"^Copyright \(c\) \d+ (.+)$", (ROOT / "LICENSE").read_text(), flags=re.M)


def report_name(path, data, parameters):
    own = ([data.stem] if data else []) + [re.sub(r"[^\w.+=-]", "_", f"{n}={v}") for n, v in parameters.items()]
    return path.stem + (OWN + ",".join(own) if own else "")


async def make(path, data, parameters, authors, timeout, folder, turns, facts):
    """Executes one notebook and writes its reports into the folder."""
    name = report_name(path, data, parameters)
    async with turns:
        start = time.monotonic()
        own = folder / f"{name}.tmp"
        own.mkdir()
        nb = read(path, data)
        try:
            await execute(nb, path, timeout, own, data, parameters)
            seconds = time.monotonic() - start
            about = {"authors": authors, "date": today(), "data": data and data.name,
                     "provenance": provenance(nb, data, parameters, seconds, await asyncio.shield(facts))}
            await asyncio.to_thread(report.write_html, nb, name, about, folder / f"{name}.html")
            await asyncio.to_thread(report.write_pdf, nb, name, about, int(time.time()), folder / f"{name}.pdf")
        except (Failure, report.ReportError) as e:
            print(f"FAIL {path.name} ({time.monotonic() - start:.0f} s), {e}", flush=True)
            return None
        finally:
            shutil.rmtree(own, ignore_errors=True)
        print(f"ok   {path.name} ({seconds:.0f} s, reports {time.monotonic() - start - seconds:.1f} s)", flush=True)
        return nb


def today():
    return datetime.datetime.now().strftime("%-d %B %Y")


def publish(folder, whole):
    """Puts the reports in their place, one rename each."""
    REPORTS.mkdir(exist_ok=True)
    new = sorted((f for f in folder.iterdir() if f.suffix in (".html", ".pdf")), key=lambda f: f.name == "index.html")
    if whole:
        for old in REPORTS.iterdir():
            if old.suffix in (".html", ".pdf") and OWN not in old.name and old.name not in {f.name for f in new}:
                old.unlink()
    for f in new:
        os.replace(f, REPORTS / f.name)


def takes(path, data, parameters):
    """Whether the notebook reads data of this kind, if any, and all the parameters."""
    reader = "mesh" if data and data.suffix.lower() in MESHES else "morpho"
    wanted = [rf"nb\.Data\(.*, {reader}\.Read\)"] if data else []
    source = code(nbformat.read(path, as_version=4))
    return all(re.search(w, source) for w in wanted + [rf'nb\.Param\("{re.escape(name)}",' for name in parameters])


def sweep():
    """Removes the folders of runs that were killed."""
    for lock in HOME.glob("run-*/lock"):
        with contextlib.suppress(OSError), open(lock) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(lock.parent, ignore_errors=True)


def with_outputs(paths):
    for path in paths:
        nb = nbformat.read(path, as_version=4)
        for i, cell in enumerate(nb.cells):
            if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
                yield path, nb, i + 1
                break


async def run(paths, whole, check, timeout, data=None, parameters={}, authors=()):
    HOME.mkdir(exist_ok=True)
    sweep()
    with tempfile.TemporaryDirectory(dir=HOME, prefix="run-", ignore_cleanup_errors=True) as name, open(f"{name}/lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder = pathlib.Path(name)
        turns = asyncio.Semaphore(JOBS)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
        async with asyncio.TaskGroup() as group:
            facts = group.create_task(asyncio.to_thread(machine))
            tasks = [group.create_task(make(p, data, parameters, authors, timeout, folder, turns, facts)) for p in paths]
        made = [task.result() for task in tasks]
        failed = sum(nb is None for nb in made)
        if not failed:
            if whole:
                report.write_index([(p.stem, nb) for p, nb in zip(paths, made)], " · ".join([today()] + [f"{n} {v}" for n, v in facts.result()]),
                                   folder / "index.html")
            if not check:
                written = sorted(f.name for f in folder.iterdir() if f.suffix == ".html")
                publish(folder, whole)
                print("reports:", REPORTS / "index.html" if whole else ", ".join(str(REPORTS / f) for f in written))
        print(f"{len(paths) - failed} passed, {failed} failed")
        return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="throw the reports away, and fail if a notebook file holds outputs")
    parser.add_argument("--strip", action="store_true", help="only remove the outputs from the notebook files")
    parser.add_argument("--timeout", type=int, default=300, metavar="SECONDS", help="for each cell (default 300)")
    parser.add_argument("--data", type=pathlib.Path, metavar="FILE", help="landmarks to compute from instead of the standard ones")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the notebooks, any number of times")
    parser.add_argument("--authors", default="", help="of the reports, separated by semicolons")
    parser.add_argument("notebook", nargs="*", type=pathlib.Path, help="default: all of notebooks/, with the index")
    args = parser.parse_args()
    paths = [p.resolve() for p in args.notebook] or sorted(NOTEBOOKS.glob("*.ipynb"))
    if args.strip:
        for path, nb, _ in with_outputs(paths):
            for cell in nb.cells:
                if cell.cell_type == "code":
                    cell.outputs, cell.execution_count = [], None
            new = path.with_name(f".{path.name}.new")
            nbformat.write(nb, new)
            os.replace(new, path)
            print(f"stripped {path.name}")
        return
    parameters = dict(p.partition("=")[::2] for p in args.set)
    for file in paths + ([args.data] if args.data else []):
        if not file.is_file():
            sys.exit(f"{file}: no such file")
    own = bool(args.data or parameters)
    if own:
        able = [p for p in sorted(NOTEBOOKS.glob("*.ipynb")) if takes(p, args.data, parameters)]
        others = [p.name for p in paths if not takes(p, args.data, parameters)] if args.notebook else []
        if others or not (able or args.notebook):
            what = " and ".join(filter(None, [args.data and args.data.name, ", ".join(parameters)]))
            sys.exit(f"{what}: not taken by {', '.join(others) or 'any notebook'}; by: {', '.join(p.name for p in able) or 'none'}")
        paths = paths if args.notebook else able
    if not paths:
        print(f"no notebooks in {NOTEBOOKS}")
        return
    if args.check:
        found = [f"{path.name} holds outputs (cell {number}): `make strip` removes them" for path, _, number in with_outputs(paths)]
        if found:
            sys.exit("\n".join(found))
    try:
        authors = [a.strip() for a in args.authors.split(";") if a.strip()] or ([] if own else project_authors())
        whole = not args.notebook and not own
        sys.exit(asyncio.run(run(paths, whole, args.check, args.timeout, args.data and args.data.resolve(), parameters, authors)) > 0)
    except OSError as e:
        if e.errno not in (errno.EROFS, errno.EACCES, errno.ENOSPC):
            raise
        sys.exit(f"reports need a folder that can be written: {e}")
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit("interrupted: the reports are as they were")


if __name__ == "__main__":
    main()
