"""Executes the notebooks, each from nothing in a kernel of its own, and writes their reports to notebooks/reports.

A run fails, and leaves the reports as they were, if a cell fails or exceeds its time, if a shell line or a kernel command
of a cell fails, if a picture or a printed line of a cell is lost, or if a report cannot be made.
"""
import argparse
import asyncio
import contextlib
import datetime
import importlib.metadata
import os
import pathlib
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
PLUGINS = ["jax-cuda13-pjrt", "xla-cuda13-pjrt", "fastatomstruct-xla-cpu", "xla-cpu-pjrt"]


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


async def execute(path, timeout, folder):
    """Returns the executed notebook; folder is for temporary files of the kernel and its cells."""
    nb = nbformat.read(path, as_version=4)
    client = NotebookClient(nb, kernel_name="anatomy", timeout=timeout, startup_timeout=120,
                            resources={"metadata": {"path": str(path.parent)}})
    manager = client.create_kernel_manager()
    manager.kernel_spec_manager = KernelSpecManager(kernel_dirs=[f"{sys.prefix}/share/jupyter/kernels"])
    with open(folder / "kernel.log", "w+") as log:
        try:
            await client.async_start_new_kernel(env=dict(os.environ, TMPDIR=str(folder), ANATOMY_REPORT="1"), stdout=log, stderr=log)
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
    return nb


def provenance(seconds):
    """What the reports were made with; seconds is None for the index."""
    def output(*args):
        done = subprocess.run(args, cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    modules = dict(re.findall(r"^\s+(\S+) v(\S+)", (ROOT / "go.mod").read_text(), flags=re.M))
    parts = [datetime.datetime.now().strftime("%-d %B %Y, %H:%M")]
    if seconds is not None:
        parts.append(f"computed in {seconds:.0f} s on {os.cpu_count()} cores")
    if shutil.which("git"):
        commit = output("git", "rev-parse", "--short", "HEAD")
        if commit:
            parts.append(f"commit {commit}" + (", changed since" if output("git", "status", "--porcelain", "-uno") else ""))
    parts.append(output("go", "env", "GOVERSION").replace("go", "Go ", 1))
    parts += [f"{name} {modules[module]}" for name, module in [
        ("GoMLX", "github.com/gomlx/gomlx"), ("GoNB", "github.com/janpfeifer/gonb")]]
    if "GOMLX_BACKEND" in os.environ:
        parts.append("back end " + os.environ["GOMLX_BACKEND"].rsplit("/", 1)[-1])
    else:
        for name in PLUGINS:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                parts.append(f"XLA plug-in {name} {importlib.metadata.version(name)}")
                break
    return " · ".join(parts)


async def make(path, timeout, folder, turns):
    """Executes one notebook and writes its reports into the folder."""
    async with turns:
        start = time.monotonic()
        own = folder / f"{path.stem}.tmp"
        own.mkdir()
        try:
            nb = await execute(path, timeout, own)
            seconds = time.monotonic() - start
            about = provenance(seconds)
            await asyncio.to_thread(report.write_html, nb, path.stem, about, folder / f"{path.stem}.html")
            await asyncio.to_thread(report.write_pdf, nb, path.stem, about, int(time.time()), folder / f"{path.stem}.pdf")
        except (Failure, report.ReportError) as e:
            print(f"FAIL {path.name} ({time.monotonic() - start:.0f} s), {e}", flush=True)
            return None
        finally:
            shutil.rmtree(own, ignore_errors=True)
        print(f"ok   {path.name} ({seconds:.0f} s, reports {time.monotonic() - start - seconds:.1f} s)", flush=True)
        return nb


def publish(folder, whole):
    """Puts the reports in their place, one rename each."""
    REPORTS.mkdir(exist_ok=True)
    new = sorted(folder.iterdir(), key=lambda f: f.name == "index.html")
    if whole:
        for old in REPORTS.iterdir():
            if old.suffix in (".html", ".pdf") and old.name not in {f.name for f in new}:
                old.unlink()
    for f in new:
        os.replace(f, REPORTS / f.name)


def with_outputs(paths):
    for path in paths:
        nb = nbformat.read(path, as_version=4)
        for i, cell in enumerate(nb.cells):
            if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
                yield path, nb, i + 1
                break


async def run(paths, whole, check, timeout):
    HOME.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=HOME, prefix="run-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        turns = asyncio.Semaphore(JOBS)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(make(p, timeout, folder, turns)) for p in paths]
        made = [task.result() for task in tasks]
        failed = sum(nb is None for nb in made)
        if not failed:
            if whole:
                report.write_index([(p.stem, nb) for p, nb in zip(paths, made)], provenance(None), folder / "index.html")
            if not check:
                publish(folder, whole)
                print(f"reports: {REPORTS / 'index.html'}")
        print(f"{len(paths) - failed} passed, {failed} failed")
        return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="throw the reports away, and fail if a notebook file holds outputs")
    parser.add_argument("--strip", action="store_true", help="only remove the outputs from the notebook files")
    parser.add_argument("--timeout", type=int, default=300, metavar="SECONDS", help="for each cell (default 300)")
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
    if not paths:
        print(f"no notebooks in {NOTEBOOKS}")
        return
    if args.check:
        found = [f"{path.name} holds outputs (cell {number}): `make strip` removes them" for path, _, number in with_outputs(paths)]
        if found:
            sys.exit("\n".join(found))
    try:
        sys.exit(asyncio.run(run(paths, not args.notebook, args.check, args.timeout)) > 0)
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit("interrupted: the reports are as they were")


if __name__ == "__main__":
    main()
