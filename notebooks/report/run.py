"""Executes the notebooks, each from nothing in a kernel of its own, and writes their reports to notebooks/reports.

With --data PATH those that call nb.Data compute from one's own landmarks or meshes, with --set NAME=VALUE those that call nb.Param
from other parameters. Such reports carry file and parameters in their names and stand beside the standard ones; with
--data, cells with the tag "standard", which speak of the standard data, are left out, and a check that is false is marked
in the report and named here, with exit status 3. A notebook whose title is such a cell is a template: its report is called --title, or
after the data.

What no notebook knows, and values of parameters that are wrong, end the run with a message before any notebook is executed. Data are read by the
notebook alone, and once: what it cannot read, or cannot answer about them, ends the run with that message.

A run fails, with exit status 1, and leaves the reports as they were, if a cell fails or exceeds its time, if a shell line
or a kernel command of a cell fails, if a picture or a printed line of a cell is lost, if a report cannot be made, or, with --check, if a picture
is hard to see. A cell with the
tag "raises-exception" may fail: its report shows the message, and the code below.
"""
import argparse
import asyncio
import contextlib
import dataclasses
import datetime
import fcntl
import functools
import glob
import hashlib
import json
import os
import pathlib
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

# Where JupyterLab is installed, nbformat would load a grammar of addresses, which takes longer than all else at the start.
sys.modules.setdefault("rfc3987_syntax", None)

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

import evidence
import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = ROOT / "notebooks"
REPORTS = NOTEBOOKS / "reports"
GALLERY = NOTEBOOKS / "gallery"
TEMPLATES = NOTEBOOKS / "templates"  # for one's own data
HOME = ROOT / ".anatomy"
JOBS = 2
COLUMNS = 90  # of code, tabs being four wide: what a page holds
OWN = "--"  # between the names of a notebook and of one's own data in the name of a report
MANIFEST = ".reports.json"  # in REPORTS: what lies there by this program, {name: what it is about}
LONGEST = 150  # bytes of a report's name: file systems take 255
MOST_FILES, MOST_BYTES = 10000, 16 << 30  # of a folder of one's own data
UNFINISHED_DAYS = 30  # how long the folders of reports that were interrupted stay
CHECKED = 300  # seconds that a cell may take where reports are only checked: one's own data may be large
VARIABLES = {"covariates": "a table with a row for each specimen", "landmarks": "landmarks of some of the meshes of --data: a file or a folder",
             "title": "of the reports", "authors": "of the reports, separated by semicolons"}  # answers that are variables of make, too
WRITTEN, MARKED = 0, 3  # exit statuses, 1 being a failure
# Programs are those of absolute folders of the PATH, wherever this one was started.
os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep)))


class Failure(Exception):
    pass


class Refusal(Failure):
    """What a notebook says of the data or the answers of the user, see nb.Data: it is not about the code of a cell."""


@dataclasses.dataclass
class Study:
    """What reports are about: the standard data, or a file or folder of one's own; standard or other parameters.

    It is copied at the start: all cells read what the checksum is of, whatever becomes of it meanwhile."""
    data: pathlib.Path | None = None
    parameters: dict = dataclasses.field(default_factory=dict)
    title: str = ""  # of the reports
    at_once: bool = True  # execute notebooks as programs where that shows the same
    checksum: str = ""  # of the data
    copies: dict = dataclasses.field(default_factory=dict)  # of all inputs, {name: (original, copy, checksum)}
    passed: dict = dataclasses.field(default_factory=dict)  # the parameters, with the copies of the files that they name

    def take(self, folder, files=()):
        """Copies all inputs into the folder: the data, and what the parameters name that are files, a value being FILE or SPECIMEN=FILE."""
        inputs, before = {"data": self.data}, {}
        for name in filter(self.parameters.get, files):
            value = self.parameters[name]
            before[name], path = ("", value) if pathlib.Path(value).exists() or "=" not in value else re.match("(.*?=)(.*)", value, flags=re.S).groups()
            inputs[name] = located(pathlib.Path(os.path.expanduser(path)))
            if not inputs[name].exists():
                raise Failure(f"SET: {name}={value}: no such file")
        self.copies = {name: copied(path, folder / name) for name, path in inputs.items() if path}
        self.passed = self.parameters | {name: start + str(self.copies[name][1]) for name, start in before.items()}
        self.checksum = self.copies["data"][2] if self.data else checksum(*sorted((ROOT / "landmarks" / "morpho" / "data").glob("*.csv")))

    def copy(self, name):
        """The path of the copy of an input, "" without."""
        return str(self.copies[name][1]) if name in self.copies else ""

    @functools.cached_property
    def readers(self):
        """The functions that may read the data, the likeliest first; of standard data none."""
        return ask("readers", self.data) if self.data else [""]

    @property
    def own(self):
        return bool(self.data or self.parameters)

    def source(self, notebook):
        """What tells the reports of notebooks of one name from each other: data, parameters, and where a notebook is that is none of
        the project; "" for the standard ones of the project."""
        elsewhere = [] if notebook.parent in (NOTEBOOKS, TEMPLATES) else [str(notebook)]
        return json.dumps([str(self.data or ""), self.parameters] + elsewhere) if self.own or elsewhere else ""

    def unfinished(self, notebook):
        """The folder where the cells of a notebook about one's own data keep what they have found until the report is written: after an
        interruption the same command goes on from there. Its name depends on all that they depend on."""
        about = [self.source(notebook), self.checksum, [taken[2] for taken in self.copies.values()], checksum(notebook), code()]
        return HOME / "unfinished" / hashlib.sha256(json.dumps(about).encode()).hexdigest()[:16]

    def named(self, message):
        """The message, about the file that the user knows."""
        for original, copy, _ in self.copies.values():
            message = message.replace(str(copy), str(original))
        return message


def copied(original, folder):
    """The original of an input, its copy in a folder of its own, and the checksum of this."""
    copy = folder / report.readable(original.name)  # which cells can name
    folder.mkdir()
    folders, files = contents(original) if original.is_dir() else ([], [original])
    for f in [original, *folders] if original.is_dir() else []:
        (copy / f.relative_to(original)).mkdir()
    copies = [copy / f.relative_to(original) for f in files]
    for f, place in zip(files, copies):
        try:
            shutil.copyfile(f, place)
        except OSError as e:
            raise Failure(f"{f}: {e.strerror}") if e.filename == str(f) else e
    return original, copy, checksum(*sorted(copies))


def contents(folder):
    """The folders below a folder and the files in all of them, but for what is hidden, which study.Read passes over.
    What links lead to belongs to it; one that leads nowhere, and what cannot be read, is a failure."""
    def fail(e):
        raise Failure(f"{e.filename}: {e.strerror}")

    folders, files, others, size = [], [], [], 0
    for where, below, names in os.walk(folder, onerror=fail, followlinks=True):
        below[:] = [name for name in below if not name.startswith(".")]
        for path in (pathlib.Path(where, name) for name in below):
            if path.is_symlink() and path.parent.resolve().is_relative_to(path.resolve()):
                raise Failure(f"{path}: a link to a folder that it lies in: remove it")
            folders.append(path)
        for path in (pathlib.Path(where, name) for name in names if not name.startswith(".")):
            if not path.exists():
                raise Failure(f"{path}: a link that leads nowhere: fetch what it stands for, or remove it")
            if path.is_file():
                files.append(path)
                size += path.stat().st_size
            else:
                others.append(path)
        if len(folders) + len(files) > MOST_FILES or size > MOST_BYTES:
            raise Failure(f"{folder}: more than {MOST_FILES} files or {MOST_BYTES >> 30} GB, which is no folder of one population")
    if others:
        print("passed over, as neither files nor folders:", *others)
    return folders, files


def describe(cell, number, message):
    """What a cell that failed says, and its code: of a long one the lines around that which the message names."""
    lines = cell.source.splitlines()
    place = re.search(rf"cell \[{cell.execution_count}\], line (\d+)", message)
    near = range(max(int(place[1]) - 4, 0), min(int(place[1]) + 3, len(lines))) if place else range(len(lines))
    source = "\n".join(f"{i + 1:4} | {lines[i]}" for i in near)
    return f"cell {number}:\n{message.strip()}\n{source}"


def stream(cell, name):
    return report.ANSI.sub("", "".join(o.text for o in cell.outputs if o.output_type == "stream" and o.name == name))


def what_went_wrong(cell, fact):
    """GoNB reports a cell as well done whose shell line failed, and now and then loses what a cell shows."""
    err = stream(cell, "stderr")
    if re.search(r"^exit status \d+$|^signal: ", err, flags=re.M):
        return "a shell line failed:\n" + err
    if re.search(r"^no command %", err, flags=re.M):
        return err
    shown = sum(o.output_type in ("display_data", "execute_result") for o in cell.outputs)
    if shown < fact["shows"]:
        return f"output was lost: the cell shows at least {fact['shows']} things, {shown} arrived"
    if fact["prints"] and not stream(cell, "stdout"):
        return "output was lost: the cell prints, nothing arrived"


def ran(*args, program="go", **options):
    """The go command about this module, or a program that calls it, whatever workspace the folder lies in."""
    # Flags that choose how go.mod is read or which it is are for the user's own modules; of a repository around the folder see setup.py.
    flags = re.sub(r"(^|\s)--?mod(file)?=\S*", "", os.environ.get("GOFLAGS", "")) + " -buildvcs=false"
    return subprocess.run([program, *map(str, args)], cwd=ROOT, env={**os.environ, "GOWORK": "off", "GOFLAGS": flags},
                          capture_output=True, text=True, encoding="utf-8", errors="replace", **options)


def go(*args):
    """What it prints."""
    done = ran(*args)
    if done.returncode:
        raise Failure(f"`go {' '.join(map(str, args))}` failed:\n{done.stderr.strip()}")
    return done.stdout.strip()


@functools.cache
def maker(folder):
    """What makes programs of notebooks, compiled once for a run, into its folder."""
    go("build", "-C", ROOT / "kernels" / "jupyter" / "tools", "-o", folder / "program", "./program")
    return folder / "program"


def ask(*words, **answers):
    """What the program ask answers: see ask/main.go. Of an error it has the message alone."""
    done = ran("run", "./notebooks/report/ask", *words, input=json.dumps(answers))
    if done.returncode:
        raise Failure(re.sub(r"\nexit status \d+\n\Z", "", done.stderr).strip())
    return json.loads(done.stdout)


def facts(paths, **answers):
    """What the code of notebooks says of itself, by path, and what is wrong with the answers to its questions."""
    return dict(zip(paths, ask("facts", *paths, **answers)))


def read(path, fact, study):
    """The notebook, with the pictures in its folder that it shows, each code cell with its facts, and without what it says of the
    standard data if there are others. Without its title it has that of the study, or the name of the data."""
    nb = nbformat.read(path, as_version=4)
    report.attach(nb, path.parent)
    for cell, about in zip((c for c in nb.cells if c.cell_type == "code"), fact["cells"]):
        cell.metadata["facts"] = about
    if study.data:
        nb.cells = [c for c in nb.cells if "standard" not in c.metadata.get("tags", [])]
    if study.title or study.data and not report.title(nb, ""):
        # Nothing of it is Markdown: no link, no reference, no formula.
        name = re.sub(r"([!-/:-@[-`{-~])", r"\\\1", " ".join(report.readable(study.title or study.data.stem).split()))
        for cell in nb.cells:
            if cell.cell_type == "markdown":
                cell.source = re.sub(r"^# .*\n*", "", cell.source)
        nb.cells.insert(0, nbformat.v4.new_markdown_cell(f"# {name}"))
    return nb


class Progress:
    """What the notebooks do that are executed, in the last line of a terminal: cells write it to files, see notebooks/nb."""

    def __init__(self):
        self.running = {}  # name: the file, and the number of the cell
        self.shown = ""

    def line(self):
        parts = []
        for name, (file, cell) in self.running.items():
            with contextlib.suppress(OSError):
                if text := re.sub("</?code>", "", file.read_text(encoding="utf-8")):
                    parts.append(f"{name}, cell {cell}: {text}")
        return " │ ".join(parts)[:shutil.get_terminal_size().columns - 1]

    def clear(self):
        """Clears the line, before another one is printed."""
        if self.shown:
            print("\r\x1b[K", end="", flush=True)
            self.shown = ""

    async def show(self):
        """Shows the line, until it is cancelled."""
        while sys.stdout.isatty():
            line = self.line()
            if line != self.shown:
                print(f"\r\x1b[K{line}", end="", flush=True)
                self.shown = line
            await asyncio.sleep(0.5)


progress = Progress()


async def execute(nb, path, timeout, folder, study):
    """Executes the notebook of a path; folder is for temporary files of the kernel and its cells. Each code cell is given
    the checks that it made, as its metadata "checks". A notebook of the project about the standard data is executed as one program, which takes a
    fraction of the time; if the program fails, cell by cell, so that messages are those of JupyterLab."""
    if study.at_once and not study.own and path.parent in (NOTEBOOKS, TEMPLATES):
        try:
            return await execute_at_once(nb, path, timeout, folder, study)
        except Failure as e:
            progress.clear()
            print(f"     {path.name} is executed cell by cell, for as one program it fails: {str(e)[:200]}", flush=True)
    await execute_cells(nb, path, timeout, folder, study)


async def execute_at_once(nb, path, timeout, folder, study):
    """Executes a notebook as one program, see kernels/jupyter/tools/program, and gives its cells what they have shown, printed and checked: the
    program marks where each begins, see nb.Cell."""
    cells = [cell for cell in nb.cells if cell.cell_type == "code"]
    for cell in cells:
        if re.search(r"^(!|%(?!env \w+=\S+$))", cell.source, flags=re.M) or "raises-exception" in cell.metadata.get("tags", []):
            raise Failure("it holds commands other than %env NAME=value, or cells that may fail")
    file = folder / "program" / "main.go"
    file.parent.mkdir()
    done = await asyncio.to_thread(ran, ROOT, path, file, program=maker(folder.parent))
    if done.returncode:
        raise Failure(done.stderr.strip())
    whole = nbformat.v4.new_code_cell(file.read_text(encoding="utf-8"), metadata={"facts": {"shows": 0, "prints": False}})
    await execute_cells(nbformat.v4.new_notebook(cells=[whole]), path, timeout, folder, study)
    for cell in cells:
        cell.outputs, cell.metadata["checks"] = [], []
    for count, cell in enumerate((cell for cell in cells if cell.source.strip()), 1):
        cell.execution_count = count
    shown = printed = checked = 0
    for out in whole.outputs:
        if out.output_type == "stream" and out.name == "stdout":
            text, *marked = re.split(r"\0cell (\d+)\n", out.text)
            for printed, text in [(printed, text), *zip(map(int, marked[::2]), marked[1::2])]:
                if text:
                    cells[printed - 1].outputs.append(nbformat.v4.new_output("stream", name="stdout", text=text))
        elif "application/vnd.anatomy.cell" in out.get("data", {}):
            shown = int(out.data["application/vnd.anatomy.cell"])
        else:
            cells[shown - 1].outputs.append(out)
    for check in whole.metadata["checks"]:
        if "cell" in check:
            checked = check["cell"]
        else:
            cells[checked - 1].metadata["checks"].append(check)
    if {shown, printed, checked} != {len(cells)}:
        raise Failure(f"marks of its cells were lost: {shown}, {printed} and {checked} of {len(cells)}")
    for i, cell in enumerate(nb.cells):
        if cell.cell_type == "code" and (wrong := what_went_wrong(cell, cell.metadata["facts"])):
            raise Failure(describe(cell, i + 1, wrong))


async def execute_cells(nb, path, timeout, folder, study):
    """Executes a notebook in a kernel cell by cell. What cells check nb writes to a file, one line of JSON each."""
    record = folder / "record"
    client = NotebookClient(nb, kernel_name="anatomy", timeout=timeout, startup_timeout=120,
                            resources={"metadata": {"path": str(path.parent)}})
    manager = client.create_kernel_manager()
    manager.kernel_spec_manager = KernelSpecManager(kernel_dirs=[f"{sys.prefix}/share/jupyter/kernels"])
    manager.connection_file = str(folder / "connection.json")  # with its key, which goes with the folder whatever ends this run
    with open(folder / "kernel.log", "w+") as log:
        try:
            env = dict(os.environ, TMPDIR=str(folder), ANATOMY_REPORT="1", ANATOMY_RECORD=str(record), ANATOMY_PROGRESS=str(folder / "progress"),
                       ANATOMY_DATA=study.copy("data"), ANATOMY_SET=json.dumps(study.passed),
                       ANATOMY_UNFINISHED=str(study.unfinished(path) if study.data else ""))
            await client.async_start_new_kernel(env=env, stdout=log, stderr=log)
            await client.async_start_new_kernel_client()
            for i, cell in enumerate(nb.cells):
                if cell.cell_type != "code":
                    continue
                record.write_text("")
                progress.running[path.stem] = folder / "progress", i + 1
                try:
                    await client.async_execute_cell(cell, i)
                except CellTimeoutError:
                    raise Failure(describe(cell, i + 1, f"not done after {timeout} s: --timeout of run.py allows more"))
                except CellExecutionError as e:
                    for refused in recorded(record, "refused"):
                        raise Refusal(study.named(refused))
                    raise Failure(describe(cell, i + 1, f"{stream(cell, 'stderr')}{e.evalue}"))
                wrong = what_went_wrong(cell, cell.metadata["facts"])
                if wrong:
                    raise Failure(describe(cell, i + 1, wrong))
                cell.metadata["checks"] = [check for check in recorded(record) if not {"note", "refused"} & check.keys()]
                for note in recorded(record, "note"):
                    progress.clear()
                    print("note:", "".join(c if c.isprintable() else "�" for c in study.named(note)), flush=True)
        except (DeadKernelError, RuntimeError) as e:
            if asyncio.current_task().cancelling():  # nbclient takes the interruption for the kernel's end
                raise asyncio.CancelledError
            log.seek(0)
            # Its words, without where in its code it said them.
            said = re.sub(r"^goroutine \d+ \[.*|^\S+\n\t\S+:\d+\n", "", log.read(), flags=re.M | re.S)
            raise Failure(f"the kernel ended: {e}\n{said[-4000:].strip()}")
        finally:
            progress.running.pop(path.stem, None)
            if client.kc:
                client.kc.stop_channels()
            if manager.has_kernel:
                group = manager.provisioner.pgid
                if await manager.is_alive():  # of one that died at its start nbclient has closed the connection, which this would ask
                    await manager.shutdown_kernel(now=True)
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)  # a cell that outlived its kernel


def recorded(file, what=""):
    """The lines that nb has written for a cell, or what they have of a name."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return [line[what] for line in lines if what in line] if what else lines


def output(*args):
    done = subprocess.run(args, cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def located(path):
    """The path from the root, of a link its own: reports are called after it, and its end says what kind of file it is."""
    return path.parent.resolve() / path.name if path.name.strip(".") else path.resolve()


def checksum(*paths):
    h = hashlib.sha256()
    for path in paths:
        h.update(path.read_bytes())
    return h.hexdigest()[:16]


@functools.cache
def code():
    """A checksum of the Go files of the project."""
    return checksum(*sorted(ROOT.glob("*.go")), *sorted(ROOT.glob("[!.]*/**/*.go")))


def processor():
    with contextlib.suppress(OSError):
        m = re.search(r"^model name\s*:\s*(.+)$", pathlib.Path("/proc/cpuinfo").read_text(), flags=re.M)
        if m:
            return m.group(1)
    return platform.processor() or platform.machine()


def committed():
    """The commit of the project, and whether what runs is another; "" where ROOT is no repository of its own. A repository around it is not
    asked: it may be somebody else's, and name programs that git runs."""
    if not shutil.which("git") or not (ROOT / ".git").exists():
        return ""
    git = "git", f"--git-dir={ROOT / '.git'}", f"--work-tree={ROOT}"
    commit = output(*git, "rev-parse", "--short=12", "HEAD")
    changed = output(*git, "status", "--porcelain", "-uno") or output(*git, "status", "--porcelain", "-unormal", "--", "*.go", "*.ipynb")
    return f"commit {commit}" + (", changed since" if changed else "") if commit else ""


def machine():
    """With what the notebooks are computed here: (name, value) pairs."""
    version = re.search(r'const Version = "(.*)"', (ROOT / "doc.go").read_text())[1]
    about = [("anatomy", ", ".join(filter(None, [version, committed()])))]
    about.append(("Go", go("env", "GOVERSION").removeprefix("go")))
    for name, module in [("GoMLX", "github.com/gomlx/gomlx"), ("GoNB", "github.com/janpfeifer/gonb")]:
        about.append((name, go("list", "-m", "-f", "{{.Version}}", module).removeprefix("v")))
    backend = ask("backend")
    if not backend["device"]:
        return about + [("device", f"{processor()}, {os.cpu_count()} cores")]
    about.append(("back end", "XLA, " + re.sub(r"\b([0-9a-f]{16})[0-9a-f]{48}\b", r"\1…", backend["plugin"]) + (f", PJRT {backend['pjrt']}" if backend["pjrt"] else "")))
    device = backend["device"]
    return about + [("device", f"{device} on {processor()}, {os.cpu_count()} cores" if "cpu" in device.lower() else device)]


def notebooks():
    """The paths of the notebooks of the project, in the order of the index: lessons by their names, then templates."""
    return sorted(NOTEBOOKS.glob("*.ipynb")) + sorted(TEMPLATES.glob("*.ipynb"))


def provenance(fact, study, seconds, machine):
    """How a report came about: (name, value) pairs."""
    about = [(name, f"{original.name}, SHA-256 {checksum}…") for name, (original, _, checksum) in study.copies.items()]
    if not study.data and fact["data"]:
        about.append(("data", f"those of the project, SHA-256 {study.checksum}…"))
    if study.parameters:
        private = re.compile(r"(^|[=;,\s])(?:~|/|[A-Za-z]:\\)[^=;]*[/\\]")  # folders of this machine
        about.append(("parameters", ", ".join(f"{n} = {private.sub(lambda m: m[1], v)}" for n, v in study.parameters.items())))
    if fact["seeds"]:
        about.append(("random numbers", ", ".join(fact["seeds"])))
    return about + machine + [("time", f"{seconds:.0f} s")]


def project_authors(paths):
    """The authors of the project's notebooks, which are templates or have a number; of one's own notebook no author is known."""
    ours = all(p.parent == TEMPLATES or report.part(p.stem) < len(report.PARTS) - 1 for p in paths)
    return re.findall(r"^Copyright \(c\) \d+ (.+)$", (ROOT / "LICENSE").read_text(), flags=re.M) if ours else []


def report_name(path, study):
    """A name for reports: of others of this name see publish."""
    if not study.own:
        return path.stem
    own = study.title or (study.data.stem if study.data else ",".join(f"{n}={v}" for n, v in study.parameters.items()))
    plain = re.sub(r"[^\w.+=,-]+", "_", re.sub(r"\s*([+*:=])\s*", r"\1", own)).strip("_")
    return os.fsencode(path.stem + OWN + (plain or "data"))[:LONGEST].decode(errors="ignore")


def hard_to_see(nb):
    """What viz found of the pictures of cells that a reader would not see well, see viz/looks.go: a message for each such cell."""
    said = ((number, cell, [fault for out in cell.get("outputs", []) for fault in out.get("metadata", {}).get("faults", [])])
            for number, cell in enumerate(nb.cells, 1))
    return [describe(cell, number, "a picture is hard to see: " + "; ".join(faults)) for number, cell, faults in said if faults]


@dataclasses.dataclass
class Made:
    """An executed notebook whose reports are written."""
    name: str
    notebook: nbformat.NotebookNode

    @property
    def checks(self):
        return [check for cell in self.notebook.cells for check in cell.metadata.get("checks", [])]

    @property
    def marked(self):
        return [check for check in self.checks if not check["ok"]]


async def make(path, fact, study, timeout, folder, turns, about, check):
    """Executes one notebook and writes its reports into the folder, and unless they are only checked their figures and tables as files;
    None if that fails. about is what all reports say."""
    name = report_name(path, study)
    async with turns:
        start = time.monotonic()
        own = folder / f"{name}.tmp"
        try:
            own.mkdir()
            nb = read(path, fact, study)
            unfinished = study.unfinished(path) if study.data else None
            if unfinished and unfinished.exists():
                print(f"note: {path.name} was interrupted, and goes on from there", flush=True)
            await execute(nb, path, timeout, own, study)
            if check and (hard := hard_to_see(nb)):
                raise Failure("\n".join(hard))
            seconds = time.monotonic() - start
            said = await asyncio.shield(about)
            said = dict(said, template=path.parent == TEMPLATES, data=study.data and study.data.name, provenance=provenance(fact, study, seconds, said["provenance"]))
            await asyncio.to_thread(report.write_html, nb, name, said, folder / f"{name}.html")
            await asyncio.to_thread(report.write_pdf, nb, name, said, int(time.time()), folder / f"{name}.pdf")
            if not check:
                await asyncio.to_thread(report.write_files, nb, (folder / f"{name}.html").read_text(encoding="utf-8"), folder / name)
            if unfinished:
                shutil.rmtree(unfinished, ignore_errors=True)
        except Refusal:
            raise
        except (Failure, report.ReportError, OSError) as e:
            progress.clear()
            print(f"FAIL {path.name} ({time.monotonic() - start:.0f} s), {study.named(str(e))}", flush=True)
            return None
        finally:
            shutil.rmtree(own, ignore_errors=True)
        made = Made(name, nb)
        progress.clear()
        print(f"ok   {path.name} ({seconds:.0f} s, reports {time.monotonic() - start - seconds:.1f} s)", flush=True)
        if made.marked:
            print(f"     false of these data, and marked in the report: {len(made.marked)} of {len(made.checks)} checks")
            for check in made.marked:
                claim = f"     ✗ {check['what']}" + (f": got {check['got']}, want {check['want']} ± {check['tol']}" if "got" in check else "")
                print("".join(c if c.isprintable() else "�" for c in claim), flush=True)
        return made


def today():
    return datetime.datetime.now().strftime("%-d %B %Y")


@contextlib.contextmanager
def manifest():
    """What lies in REPORTS by this program: {name: source of the study}. Whoever has it is alone there."""
    os.makedirs(os.path.realpath(REPORTS), exist_ok=True)
    with open(REPORTS / ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        file = REPORTS / MANIFEST
        try:
            entries = json.loads(file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            entries = {}
        except ValueError:
            entries = None
        if not isinstance(entries, dict) or not all(isinstance(s, str) and pathlib.PurePath(n).name == n for n, s in entries.items()):
            raise Failure(f"{file} does not list reports, as this program writes it: remove it, and reports of other notebooks or data stay")
        yield entries
        new = file.with_name(MANIFEST + ".new")
        new.write_text(json.dumps(entries, indent=1), encoding="utf-8")
        os.replace(new, file)


LINK = re.compile(r'<a\b[^>]*\bhref="([^":/?#]+\.html)(?:#[^"]*)?"[^>]*>(.*?)</a>', flags=re.S)  # to another page of the folder


def without_dead_links(page, there):
    """The page without links to files that are not there: its navigation loses them, elsewhere their text stays."""
    def navigation(m):
        links = LINK.sub(lambda a: a[0] if there(urllib.parse.unquote(a[1])) else "", m[2])
        return m[1] + links + m[3] if links.strip() else ""

    page = re.sub(r'(<nav class="pages"[^>]*>)(.*?)(</nav>\n?)', navigation, page, flags=re.S)
    return LINK.sub(lambda a: a[0] if there(urllib.parse.unquote(a[1])) else a[2], page)


PARTS = "", ".pdf", ".html"  # of a report: the folder of its figures and tables, and what is read


def remove(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def publish(folder, sources, whole):
    """Puts the reports in their place, one rename each, and returns their pages. sources tells by their names what the
    reports of notebooks come from. The folder may lie on another file system; of what is there, only reports that this
    program has written are replaced or removed. Another file of the same name gets a number behind it."""
    with manifest() as entries:
        files, pages, ours = [], [], set(entries)
        for page in sorted(folder.glob("*.html"), key=lambda f: f.name == "index.html"):
            source = sources.get(page.stem, "")
            name, n = page.stem, 1
            while entries.get(name, source) != source:  # another file of the same name
                n += 1
                name = f"{page.stem}~{n}"
            entries[name] = source
            if name != page.stem:  # its links to its own files
                links = page.read_text(encoding="utf-8").replace(f'href="{urllib.parse.quote(page.stem)}/', f'href="{urllib.parse.quote(name)}/')
                page.write_text(links, encoding="utf-8")
            files += [(f, REPORTS / f"{name}{suffix}", name) for suffix in PARTS if (f := folder / f"{page.stem}{suffix}").exists()]
            pages.append(REPORTS / f"{name}.html")
        for page in folder.glob("*.html"):
            text = page.read_text(encoding="utf-8")
            page.write_text(without_dead_links(text, lambda name: REPORTS / name in pages or (REPORTS / name).exists()), encoding="utf-8")
        try:
            for f, place, _ in files:
                remove(place.with_name(f".{place.name}.new"))  # of a run that was killed
                (shutil.copytree if f.is_dir() else shutil.copyfile)(f, place.with_name(f".{place.name}.new"))
            for _, place, name in files:
                if place.exists() and name not in ours:
                    n = 1
                    while place.with_name(f"{place.name}.{n}").exists():
                        n += 1
                    os.replace(place, place.with_name(f"{place.name}.{n}"))
                if place.is_dir():
                    shutil.rmtree(place)
                os.replace(place.with_name(f".{place.name}.new"), place)
        finally:
            for _, place, _ in files:
                remove(place.with_name(f".{place.name}.new"))
        if whole:
            for name in [n for n, source in entries.items() if source == "" and REPORTS / f"{n}.html" not in pages]:
                for suffix in PARTS:
                    remove(REPORTS / f"{name}{suffix}")
                del entries[name]
        return pages


def show(made, about, folder):
    """Puts the report that was made last, and an index of those that are ready, into their place: a course can be read from its first lesson
    on. made are the notebooks so far, about what all reports say."""
    report.write_index([(m.name, m.notebook) for m in made], about, folder / "index.html")
    with tempfile.TemporaryDirectory(dir=folder) as place:
        for name in made[-1].name, "index", "packages", *about["pages"]:
            for part in filter(pathlib.Path.exists, (folder / f"{name}{suffix}" for suffix in PARTS)):
                (shutil.copytree if part.is_dir() else shutil.copyfile)(part, pathlib.Path(place, part.name))
        publish(pathlib.Path(place), {}, whole=False)


async def show_each(tasks, about, folder):
    """Shows each report when it is made."""
    made = []
    for task in asyncio.as_completed(tasks):
        if one := await task:
            made.append(one)
            with contextlib.suppress(OSError, Failure):  # publish will say so when all are made
                await asyncio.to_thread(show, made, await about, folder)
                if len(made) == 1:
                    progress.clear()
                    print("the first report can be read:", REPORTS / "index.html", flush=True)


def keep(folder):
    """Takes the reports of a run out of its folder, to one that stays; returns this."""
    kept = tempfile.mkdtemp(dir=HOME, prefix="reports-")
    for page in folder.glob("*.html"):
        for suffix in PARTS:
            if (f := folder / f"{page.stem}{suffix}").exists():
                os.replace(f, f"{kept}/{f.name}")
    return kept


def able(known, study):
    """The paths of the notebooks that read the data of a study, if any, and all its parameters."""
    def reading(reader):
        return [path for path, fact in known.items() if (not reader or reader in fact["readers"]) and all(name in fact["params"] for name in study.parameters)]

    return next(filter(None, map(reading, study.readers)), [])


@contextlib.contextmanager
def workplace():
    """A folder of this run alone, where it keeps what is not finished. What killed runs have left is removed: a folder whose
    lock nobody holds. Nobody makes one meanwhile, so that a new one is not taken for one of these."""
    HOME.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        with open(HOME / "runs", "w") as door:
            fcntl.flock(door, fcntl.LOCK_EX)
            for old in HOME.glob("run-*"):
                with contextlib.suppress(OSError), open(old / "lock", "a") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(old, ignore_errors=True)
            for old in (HOME / "unfinished").glob("*"):
                if time.time() - old.stat().st_mtime > UNFINISHED_DAYS * 86400:
                    shutil.rmtree(old, ignore_errors=True)
            folder = stack.enter_context(tempfile.TemporaryDirectory(dir=HOME, prefix="run-", ignore_cleanup_errors=True))
            lock = stack.enter_context(open(f"{folder}/lock", "w"))
            fcntl.flock(lock, fcntl.LOCK_EX)
            # What the reports need in between goes with the folder, too, whatever ends this run.
            stack.callback(setattr, tempfile, "tempdir", None)
            tempfile.tempdir = folder
        yield pathlib.Path(folder)


def with_outputs(paths):
    for path in paths:
        nb = nbformat.read(path, as_version=4)
        for i, cell in enumerate(nb.cells):
            if cell.cell_type == "code" and (cell.outputs or cell.execution_count is not None):
                yield path, nb, i + 1
                break


def wide_lines(paths):
    """Lines of code that do not fit on a page: more than COLUMNS columns."""
    for path in paths:
        for i, cell in enumerate(nbformat.read(path, as_version=4).cells):
            for line in cell.source.splitlines() if cell.cell_type == "code" else []:
                columns = len(line.expandtabs(4))
                if columns > COLUMNS:
                    yield f"{path.name}, cell {i + 1}: a line of {columns} columns, want at most {COLUMNS}: {line.strip()}"


async def run(known, study, whole, check, timeout, authors=(), gallery=None):
    """Executes the notebooks, whose facts are known by their paths; returns the exit status. gallery is a folder for their covers, if any."""
    if not check:
        with manifest():
            pass  # better to know now than when all is computed
    with workplace() as folder:
        study.take(folder, sorted({name for fact in known.values() for name, about in fact["params"].items() if about["kind"] == "file"}))
        turns = asyncio.Semaphore(JOBS)
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asyncio.current_task().cancel)

        linked = {page for path in known for page in report.linked_pages(nbformat.read(path, as_version=4)) if (NOTEBOOKS / f"{page}.md").is_file()}
        linked = sorted(linked | ({page.stem for page in NOTEBOOKS.glob("*.md")} - {"README"} if whole else set()))

        def common():
            documentation = ask("reference")
            book = [(p.stem, report.plain(report.title(nbformat.read(p, as_version=4), p.stem))) for p in notebooks()]
            said = {"authors": authors, "date": today(), "data": None, "provenance": machine(), "book": book, "pages": linked, "names": documentation["names"]}
            for page in linked:
                report.write_page(NOTEBOOKS / f"{page}.md", said, folder)
            report.write_packages(documentation["page"], documentation["names"], folder / "packages.html")
            if whole:
                evidence.write(folder / "tests.html")
            return said

        try:
            async with asyncio.TaskGroup() as group:
                about = group.create_task(asyncio.to_thread(common))
                # The first lesson has the first turn, then the longest texts: those that take long are rarely alone at the end.
                first = min(known, key=lambda p: (report.part(p.stem), p.name))
                turn = sorted(known, key=lambda p: (p == first, p.stat().st_size), reverse=True)
                tasks = {p: group.create_task(make(p, known[p], study, timeout, folder, turns, about, check)) for p in turn}
                display = asyncio.create_task(progress.show())
                if whole and not check and not (REPORTS / "index.html").exists():
                    await show_each(tasks.values(), about, folder)
                await asyncio.wait([about, *tasks.values()])
                display.cancel()
        except BaseExceptionGroup as e:
            raise e.exceptions[0]
        finally:
            progress.clear()
        made = [tasks[p].result() for p in known]
        failed = made.count(None)
        if not failed:
            entries, said = [(m.name, m.notebook) for m in made], about.result()
            if gallery:
                report.write_gallery(entries, gallery)
                print("gallery:", gallery)
            if whole:
                report.write_checks(entries, said, folder / "checks.html")
                report.write_index(entries, said, folder / "index.html")
            if not check:
                try:
                    pages = publish(folder, {m.name: study.source(p) for p, m in zip(known, made)}, whole)
                except (OSError, Failure) as e:
                    raise Failure(f"the reports cannot be put into {REPORTS}: {e}; they are in {keep(folder)}")
                print("reports:", REPORTS / "index.html" if whole else ", ".join(str(p) for p in pages if p.stem not in ("packages", *linked)))
        marked = [check["what"] for m in made if m for check in m.marked]
        said = f"; false, and marked in the {'report' if len(made) == 1 else 'reports'}: {'; '.join(marked)}" if marked else ""
        print("".join(c if c.isprintable() else "�" for c in f"{len(made) - failed} passed, {failed} failed{said}"))
        return 1 if failed else MARKED if marked else WRITTEN


def parameters(text):
    """Those of NAME=VALUE NAME=VALUE …: a value ends where the next name begins, or is quoted."""
    one = r"""\s*([\w-]+)=("[^"]*"|'[^']*'|.*?)(?=\s+[\w-]+=|\s*$)"""
    if not re.fullmatch(rf"(?:{one})*\s*", text, flags=re.S):
        sys.exit(f"SET={text}: want NAME=VALUE NAME=VALUE …")
    return {name: re.sub(r"""^(["'])(.*)\1$""", r"\2", value, flags=re.S) for name, value in re.findall(one, text, flags=re.S)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="throw the reports away, and fail if a notebook file holds outputs or too long lines of code")
    parser.add_argument("--cells", action="store_true", help="execute notebooks cell by cell, as JupyterLab does")
    parser.add_argument("--gallery", action="store_true", help="write the covers of the notebooks to notebooks/gallery, too")
    parser.add_argument("--strip", action="store_true", help="only remove the outputs from the notebook files")
    parser.add_argument("--timeout", type=int, metavar="SECONDS", help="for each cell: with --check 300 if not given, else as long as it takes")
    parser.add_argument("--data", type=pathlib.Path, metavar="PATH",
                        help="landmarks (a file, or a folder with one a specimen), a mesh or a folder of meshes to compute from instead of the standard data")
    parser.add_argument("--set", action="append", default=[], metavar="'NAME=VALUE …'", help="parameters of the notebooks, any number of times")
    for name, about in VARIABLES.items():
        parser.add_argument(f"--{name}", default="", help=about)
    parser.add_argument("--make", action="store_true", help="take DATA, COVARIATES, LANDMARKS, SET, TITLE, AUTHORS and NOTEBOOKS from the environment, where make puts its variables")
    parser.add_argument("notebook", nargs="*", type=pathlib.Path, help="default: all of notebooks/, with the index")
    args = parser.parse_args()
    if args.make:
        for name in ("data", "set", *VARIABLES):
            setattr(args, name, os.environ.get(name.upper(), ""))
        args.data, args.set = args.data and pathlib.Path(os.path.expanduser(args.data)), [args.set]  # of DATA=~/my.csv not every shell makes a path
        args.notebook = [pathlib.Path(p) for word in map(os.path.expanduser, shlex.split(os.environ.get("NOTEBOOKS", ""))) for p in sorted(glob.glob(word)) or [word]]
    for file in args.notebook + [f for f in [args.data] if f]:
        try:
            if not file.is_file() and not (file == args.data and file.is_dir()):
                sys.exit(f"{file}: {'not a regular file' if file.exists() else 'no such file'}")
        except OSError as e:
            sys.exit(f"{file}: {e.strerror}")
    paths = [p.resolve() for p in args.notebook] or notebooks()
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
    given = {name: value for text in args.set for name, value in parameters(text).items()}
    given |= {"templates" if name == "landmarks" else name: value for name in VARIABLES if (value := getattr(args, name))}
    title, authors = given.pop("title", ""), given.pop("authors", "")
    for name in {"covariates", "templates"} & {*given}:
        if not args.data:
            sys.exit(f"{name}: it belongs to data that DATA names, and there are none")
    study = Study(args.data and located(args.data), given, title, not args.cells)
    try:
        known = facts(paths, set=study.parameters, data=bool(study.data))
        if study.own:
            taking = able(known, study)
            others = [p.name for p in paths if p not in taking] if args.notebook else []
            unknown = [name for name in study.parameters if not any(name in fact["params"] for fact in known.values())]
            if unknown:
                there = "; ".join(f"{p.name}: {', '.join(sorted(fact['params']))}" for p, fact in known.items() if fact["params"])
                sys.exit(f"SET: no notebook has the parameter {', '.join(unknown)}; there are: {there or 'none'}")
            if others or not taking:
                what = " and ".join(filter(None, [args.data and args.data.name, ", ".join(study.parameters)]))
                all = facts(notebooks())
                sys.exit(f"{what}: not taken by {', '.join(others) or 'any notebook'}; by: "
                         f"{', '.join(p.name for p in able(all, study)) or 'none'}")
            known = {p: known[p] for p in taking}
            wrong = sorted({message for fact in known.values() for message in fact["wrong"]})
            if wrong:
                sys.exit("\n".join(f"SET: {m} ({', '.join(p.name for p, fact in known.items() if m in fact['wrong'])})" for m in wrong))
        twice = {p.stem for p in known if [q.stem for q in known].count(p.stem) > 1}
        if twice:
            sys.exit(f"two notebooks of the name {', '.join(sorted(twice))}: make their reports one after the other")
        if args.check:
            found = [f"{path.name} holds outputs (cell {number}): `make strip` removes them" for path, _, number in with_outputs(known)]
            found += wide_lines(known)
            if found:
                sys.exit("\n".join(found))
        authors = [a.strip() for a in authors.split(";") if a.strip()] or ([] if study.own else project_authors(known))
        whole = not args.notebook and not study.own
        timeout = args.timeout or (CHECKED if args.check else None)
        sys.exit(asyncio.run(run(known, study, whole, args.check, timeout, authors, GALLERY if args.gallery else None)))
    except Failure as e:
        sys.exit(str(e))
    except OSError as e:
        sys.exit(f"the reports cannot be written: {e}")
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit("interrupted: the reports that are there are whole")


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="replace")  # names of files may be no UTF-8
    main()
