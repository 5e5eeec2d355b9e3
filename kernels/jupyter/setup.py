"""Sets up .anatomy/, the folder of the project that holds everything installed: setup.py run|lab|test|cuda|compiler|cluster|plugin

    .anatomy/venv     Python: what reports need and the XLA plug-in; for lab JupyterLab, for test what tests it; for cuda XLA for NVIDIA GPUs
    .anatomy/plugin   for plugin the XLA plug-in that the variable PLUGIN names, which is used from then on in place of that in .anatomy/venv
    .anatomy/compiler  XLA for NVIDIA GPUs and NVIDIA's compiler, without what runs programs: for compiler
    .anatomy/cluster  for cluster Snakemake, in a Python environment of its own
    .anatomy/cuda     says that CUDA was set up: later set-ups keep it
    .anatomy/bin      gonb, and module, which tells the kernel the Go module that a notebook lies in
    .anatomy/lab      gopls

A stamp in each folder tells from which pins it was made, and which files. A step runs again when its pins change or a
file is missing; one that was interrupted starts afresh. Set-ups that run at the same time wait for each other.
"""
import sys

if sys.platform == "win32":
    sys.exit("Windows itself is not supported: use Ubuntu or Debian in WSL 2 (`wsl --install`), and this command there")

import concurrent.futures
import contextlib
import errno
import fcntl
import hashlib
import json
import os
import pathlib
import platform
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "kernels" / "jupyter"
HOME = ROOT / ".anatomy"
VENV = HOME / "venv"
CLUSTER = HOME / "cluster"
CUDA_WANTED = HOME / "cuda"
COMPILER = HOME / "compiler"
CHOSEN = HOME / "plugin"
OF_GOMLX = "pjrt_c_api_cpu_v*_plugin.so"
PLUGINS = {("Linux", "x86_64"): "fastatomstruct-xla-cpu", ("Linux", "aarch64"): "xla-cpu-pjrt"}  # wheels of requirements.txt with XLA for the CPU
SYSTEM = platform.system(), platform.machine()


# Programs are those of absolute folders of the PATH, wherever set-up was started.
os.environ["PATH"] = os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep)))

# What the steps do, for whoever waits.
DOING = {
    "python": "fetches XLA, pandoc, typst and what executes notebooks",
    "jupyterlab": "fetches JupyterLab",
    "kernel-tests": "fetches what tests the kernel and opens a browser",
    "cuda": "fetches the libraries of CUDA: 1.9 GB, 2.9 GB installed",
    "compiler": "fetches XLA for NVIDIA GPUs and its compiler: 320 MB, 1.0 GB installed",
    "cluster": "fetches Snakemake: 300 MB",
    "gonb": "fetches and compiles the notebook kernel: this takes longest, one to five minutes",
    "gopls": "fetches and compiles gopls, which completes names in JupyterLab",
}
PATIENCE = 3  # seconds after which set-up says that packages are compiled


class SetupError(Exception):
    pass


def command(*args, cwd=ROOT, **env):
    """Runs a command; its output is shown only if it fails."""
    args = [str(a) for a in args]
    # A workspace, and flags that choose how go.mod is read or which it is, are for the user's own modules. Go asks git of no repository
    # around the folder, which may be somebody else's and name programs that git runs.
    flags = re.sub(r"(^|\s)--?mod(file)?=\S*", "", os.environ.get("GOFLAGS", "")) + " -buildvcs=false"
    # The compiler takes an eighth less time if it collects garbage less often.
    done = subprocess.run(args, cwd=str(cwd), env={"GOGC": "400", **os.environ, "GOWORK": "off", "GOFLAGS": flags, **env}, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise SetupError("`%s` failed:\n%s" % (" ".join(args), done.stdout.strip()))
    return done.stdout.strip()


def go_version(text):
    """The three numbers of a version of Go such as go1.26.5; of go1.27rc1, which is before go1.27.0, the last is -1. None of anything else."""
    number = re.match(r"go(\d+)\.(\d+)(?:\.(\d+))?", text)
    return number and tuple(int(n or -1) for n in number.groups())


def check():
    """Returns the version of Go; names every tool that is missing with the command that gets it."""
    missing = []
    if sys.version_info < (3, 11):
        missing.append("Python 3.11 or newer (this is %s): Debian `apt-get install python3 python3-venv`, macOS `brew install python`;\n"
                       "  another interpreter is chosen by `make PYTHON=/path/to/python3 ...`" % sys.version.split()[0])
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        missing.append("Python's venv module: Debian `apt-get install python3-venv`, macOS `brew install python`")
    get_go = ("Debian `apt-get install golang-go` where it is new enough, macOS `brew install go`,\n"
              "  else the archive from the Go download page, unpacked, with its bin folder on the PATH")
    wanted = re.search(r"^go (\S+)$", (ROOT / "go.mod").read_text(), flags=re.M)[1]
    version = ""
    if not shutil.which("go"):
        missing.append("Go %s or newer: %s" % (wanted, get_go))
    else:
        try:
            # Where go fetches the toolchain that go.mod asks for, it says so in the lines before.
            version, compiler, cgo = command("go", "env", "GOVERSION", "CC", "CGO_ENABLED").split("\n")[-3:]
        except SetupError as e:
            missing.append("Go %s or newer: %s\n  (%s)" % (wanted, get_go, e))
        else:
            number, compiler = go_version(version), compiler.split()
            if number and number < go_version("go" + wanted):
                missing.append("Go %s or newer (this is %s): %s" % (wanted, version, get_go))
            if not compiler or not shutil.which(compiler[0]):
                missing.append("a C compiler (Go calls %s): Debian `apt-get install gcc libc6-dev`, macOS `xcode-select --install`"
                               % (" ".join(compiler) or "none"))
            elif cgo != "1":
                missing.append("cgo, which is switched off: `unset CGO_ENABLED`, or `go env -u CGO_ENABLED`")
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
    except OSError as e:
        missing.append("the loopback interface, over which notebooks talk to their kernel (127.0.0.1: %s): `ip link set lo up`" % e.strerror)
    wrong = sorted({c for c in str(ROOT) if c in ",:;'\"`\\\n"})
    if wrong:
        missing.append("a folder for this project that tools of Go and Python can take: %s has %s in its name" % (ROOT, " and ".join(map(repr, wrong))))
    if missing:
        raise SetupError("\n".join("missing: " + m for m in missing))
    return version


def key(*parts):
    """Hash of strings and of the contents of files."""
    h = hashlib.sha256()
    for p in parts:
        h.update(p.read_bytes() if isinstance(p, pathlib.Path) else str(p).encode())
        h.update(b"\0")
    return h.hexdigest()


def sizes(folder):
    """The sizes of the files in a folder, of links None; without what Python compiles, and stamps."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            if not name.endswith(".pyc") and not name.startswith(".made-"):
                found[os.path.relpath(path, folder)] = None if os.path.islink(path) else os.path.getsize(path)
    return found


def step(name, folder, pins, space, work):
    """Does the work unless the stamp in its folder says that it was done from the same pins, and all that it made is there.
    It is told whether some of what it makes may be there, and broken: it was begun and not ended, or files are missing."""
    stamp = folder / (".made-" + name)
    whole = not stamp.exists()
    with contextlib.suppress(OSError, ValueError, TypeError):
        made = json.loads(stamp.read_text())
        whole = made["files"].items() <= sizes(folder).items()
        if whole and made["pins"] == pins:
            return
    start = time.monotonic()
    free = shutil.disk_usage(HOME).free
    if free < space:
        raise SetupError("setting up %s needs %.1f GB in %s; %.1f GB are free there" % (name, space / 1e9, HOME, free / 1e9))
    print("setting up %s: %s" % (name, DOING[name]), flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    stamp.write_text("begun")
    work(not whole)
    stamp.write_text(json.dumps({"pins": pins, "files": sizes(folder)}))
    print("set up %s (%.0f s)" % (name, time.monotonic() - start), flush=True)


def environment(folder, requirements):
    """Makes a Python environment anew."""
    shutil.rmtree(folder, ignore_errors=True)
    command(sys.executable, "-m", "venv", folder)
    install(requirements, folder=folder)


def install(requirements, again=False, folder=VENV):
    # To pip a package is there if its metadata are, whatever else is missing; and without a list of its files pip cannot remove it
    # to install it again, but write over it.
    for options in [[], ["--ignore-installed"]] if again else [[]]:
        command(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps",
                "--only-binary=:all:", "--require-hashes", *options, "-r", requirements)


def link_chosen():
    """Puts the chosen plug-in where programs look for it first."""
    for packages in VENV.glob("lib/python3*/site-packages"):
        link = packages / "anatomy_plugin"
        if CHOSEN.is_dir() and not link.is_symlink():
            link.symlink_to("../../../../plugin")


def choose(plugin):
    """Makes programs use another XLA plug-in for the CPU: "wheel" (that of requirements.txt for this system), the name of a wheel that has one there,
    "gomlx" (GoMLX's own) or a file. #sha256=… behind it is the checksum that the file must have. It is taken only if it opens."""
    name, _, wanted = plugin.partition("#sha256=")
    if name in ("wheel", PLUGINS.get(SYSTEM)) and not wanted:
        shutil.rmtree(CHOSEN, ignore_errors=True)
        print("XLA is that of the wheel for this system", flush=True)
        return
    with tempfile.TemporaryDirectory(dir=HOME) as folder:
        folder = pathlib.Path(folder)
        found = of_wheel(name, folder) if name in PLUGINS.values() else of_gomlx() if name == "gomlx" else pathlib.Path(name).expanduser()
        if not found.is_file():
            raise SetupError("PLUGIN=%s: no such file, and none of the names wheel, %s and gomlx" % (plugin, ", ".join(PLUGINS.values())))
        new = folder / "plugin" / (found.stem + ".so")
        new.parent.mkdir()
        shutil.copyfile(found, new)
        checksum = hashlib.sha256(new.read_bytes()).hexdigest()
        if wanted and checksum != wanted.lower():
            raise SetupError("%s has the SHA-256 %s, not %s" % (found, checksum, wanted))
        opened, said = backend("xla:%s" % new)
        if "cpu" not in opened["device"].lower():  # such as cpu:0, TFRT_CPU_0
            raise SetupError("PLUGIN=%s cannot be opened as XLA for the CPU; what was in use stays:\n%s" % (plugin, said or opened["device"]))
        shutil.rmtree(CHOSEN, ignore_errors=True)
        new.parent.rename(CHOSEN)
    link_chosen()
    print("XLA: %s" % opened["plugin"], flush=True)


def backend(config):
    """What a program of the project says of a back end, and what it wrote beside that."""
    lines = command("go", "run", "./notebooks/report/ask", "backend", GOMLX_BACKEND=config).splitlines()
    [answer] = [line for line in lines if line.startswith('{"plugin"')]
    return json.loads(answer), "\n".join(line for line in lines if line != answer)


def of_wheel(name, folder):
    """The plug-in in a wheel that requirements.txt pins for some system."""
    package, hashes = re.search(r"^(%s==\S+).*\n((?: +--hash.*\n)+)" % name, (HERE / "requirements.txt").read_text(), re.M).groups()
    (folder / "requirements.txt").write_text(package + " \\\n" + hashes)
    command(VENV / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
            "--require-hashes", "--target", folder / "wheel", "-r", folder / "requirements.txt")
    [found] = (folder / "wheel").rglob("*.so")
    return found


def of_gomlx():
    """The newest plug-in that GoMLX's installer has put for this user; where there is none it fetches one."""
    home = pathlib.Path.home() / ("Library/Application Support" if SYSTEM[0] == "Darwin" else ".local/lib") / "go-xla"
    said = "" if list(home.glob(OF_GOMLX)) else backend("xla:cpu")[1]
    found = sorted(home.glob(OF_GOMLX), key=lambda path: [int(n) for n in re.findall(r"\d+", path.name)])
    if not found:
        raise SetupError("GoMLX's installer could not fetch its plug-in; what was in use stays:\n" + said)
    return found[-1]


def make_cuda(again):
    if SYSTEM != ("Linux", "x86_64"):
        raise SetupError("CUDA is for Linux on x86-64; this is %s on %s" % SYSTEM)
    install(HERE / "requirements-cuda.txt", again)
    # go-xla tells XLA that the compiler's programs and libdevice are in the folder nvidia beside the plug-in's.
    [plugins] = VENV.glob("lib/python3*/site-packages/jax_plugins")
    link = plugins / "nvidia"
    link.unlink(missing_ok=True)
    link.symlink_to("../nvidia/cu13")


def make_compiler(_):
    """Compiles for GPUs on a machine without one: the wheels of requirements-cuda.txt that a compiler needs."""
    wanted = ("jax-cuda13-pjrt", "nvidia-cuda-nvcc", "nvidia-cuda-nvrtc", "nvidia-cuda-runtime", "nvidia-nvjitlink", "nvidia-nvvm")
    pins = re.split(r"^(?=\S)", (HERE / "requirements-cuda.txt").read_text(), flags=re.M)
    shutil.rmtree(COMPILER, ignore_errors=True)
    COMPILER.mkdir()
    some = COMPILER / "requirements.txt"
    some.write_text("".join(p for p in pins if p.partition("==")[0] in wanted))
    command(VENV / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
            "--require-hashes", "--target", COMPILER, "-r", some)


def python(lab, test, cuda):
    requirements, lab_requirements, test_requirements = (HERE / f"requirements{name}.txt" for name in ("", "-lab", "-test"))
    pins = key(sys.version, sys.executable, str(ROOT), requirements)
    step("python", VENV, pins, 0.8e9, lambda _: environment(VENV, requirements))
    if lab:
        step("jupyterlab", VENV, key(pins, lab_requirements), 0.5e9, lambda again: install(lab_requirements, again))
    if test:
        step("kernel-tests", VENV, key(pins, test_requirements), 0.3e9, lambda again: install(test_requirements, again))
    if cuda or CUDA_WANTED.exists():
        step("cuda", VENV, key(pins, HERE / "requirements-cuda.txt"), 5e9, make_cuda)
        if not CUDA_WANTED.exists():  # a read-only folder that was set up before serves as it is
            CUDA_WANTED.touch()
    elif pathlib.Path("/dev/nvidiactl").exists():
        print("this machine has an NVIDIA GPU: `make setup-cuda` (1.9 GB) makes computations run on it", flush=True)
    link_chosen()
    if SYSTEM not in PLUGINS and not CHOSEN.is_dir() and "GOMLX_BACKEND" not in os.environ and "plugin" not in sys.argv:
        print("no XLA comes with this project for %s on %s: `make setup PLUGIN=gomlx` takes GoMLX's own, which is not tried here, "
              "or PLUGIN=/path/to/plug-in yours" % SYSTEM, flush=True)
    write(VENV / "share" / "jupyter" / "kernels" / "anatomy" / "kernel.json", {
        "argv": [str(HERE / "launch"), "{connection_file}"],
        "display_name": "Anatomy (Go)",
        "language": "go",
        "interrupt_mode": "message",
    })
    if lab:
        write(VENV / "etc" / "jupyter" / "jupyter_server_config.json", {
            "MultiKernelManager": {"default_kernel_name": "anatomy"},
            "KernelSpecManager": {"allowed_kernelspecs": ["anatomy"], "ensure_native_kernel": False},
            # what lies beside the notebooks and is none
            "ContentsManager": {"hide_globs": ["__pycache__", "*.pyc", ".*", "*~", "*_test.go", "nb", "report"]},
        })
        for name in "package.json", "static/remoteEntry.js":
            write(VENV / "share" / "jupyter" / "labextensions" / "anatomy-figures" / name, (HERE / "labextension" / name).read_text())
        write(VENV / "share" / "jupyter" / "lab" / "settings" / "overrides.json", {
            "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
            "@jupyterlab/mainmenu-extension:plugin": {"menus": [{"id": "jp-mainmenu-file", "items": [{"command": "anatomy:report", "rank": 9}]}]},
            # pages are read
            "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}},
        })


def cluster():
    requirements = HERE / "requirements-cluster.txt"
    step("cluster", CLUSTER, key(sys.version, sys.executable, str(ROOT), requirements), 0.4e9, lambda _: environment(CLUSTER, requirements))


def write(path, content):
    text = content if isinstance(content, str) else json.dumps(content, indent=1)
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def apply(patch, folder):
    """Applies a unified diff to the files of a folder."""
    for part in re.split(r"^(?=--- )", patch.read_text(), flags=re.M)[1:]:
        name = re.match(r"--- a/(\S+)\n\+\+\+ b/\1\n", part)[1]
        old = (folder / name).read_text().splitlines(keepends=True)
        new, done = [], 0
        for start, hunk in re.findall(r"^@@ -(\d+)\S* .*\n((?:[ +-].*\n)*)", part, flags=re.M):
            lines = hunk.splitlines(keepends=True)
            before = [line[1:] for line in lines if line[0] in " -"]
            at = int(start) - 1
            if old[at:at + len(before)] != before:
                raise SetupError(f"{patch}: line {start} of {name} is not what the patch was made for")
            new += old[done:at] + [line[1:] for line in lines if line[0] in " +"]
            done = at + len(before)
        (folder / name).write_text("".join(new + old[done:]))


def golang(version, lab):
    tools = HERE / "tools"
    gonb = "github.com/janpfeifer/gonb"

    # Without -trimpath, with which the standard library would be compiled a second time.
    def build(module, program, package, *flags):
        command("go", "build", "-ldflags=-s -w", *flags, "-o", program, package, cwd=module)

    def build_gonb(_):
        # gonb.patch says what it mends.
        source = json.loads(command("go", "mod", "download", "-json", gonb, cwd=tools))["Dir"]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            shutil.copytree(source, folder / "gonb", copy_function=shutil.copyfile)
            for path in [folder / "gonb", *(folder / "gonb").rglob("*")]:
                path.chmod(0o700 if path.is_dir() else 0o600)  # the module cache is read-only
            apply(tools / "gonb.patch", folder / "gonb")
            shutil.copyfile(tools / "help.md", folder / "gonb" / "internal" / "specialcmd" / "help.md")
            shutil.copyfile(tools / "go.sum", folder / "go.sum")
            (folder / "go.mod").write_text((tools / "go.mod").read_text() + f'\nreplace {gonb} => {json.dumps(str(folder / "gonb"))}\n')
            build(tools, HOME / "bin" / "gonb", gonb, f"-modfile={folder / 'go.mod'}")
        build(ROOT, HOME / "bin" / "module", "./kernels/jupyter/module")

    sources = [tools / name for name in ("go.mod", "go.sum", "gonb.patch", "help.md", "cell/hints.tsv")] + sorted((tools / "cell").glob("*.go"))
    sources += HERE / "module" / "main.go", ROOT / "geom" / "engine" / "trusted" / "trusted.go"
    step("gonb", HOME / "bin", key(version, *sources), 0.1e9, build_gonb)
    if lab:
        step("gopls", HOME / "lab", key(version, tools / "gopls" / "go.mod", tools / "gopls" / "go.sum"), 0.1e9, lambda _: build(
            tools / "gopls", HOME / "lab" / "gopls", "golang.org/x/tools/gopls"))
    # A cell resolves its imports from the module cache, and links what the build cache holds. Programs, which no cell imports,
    # are left out: they would be linked each time.
    said = threading.Timer(PATIENCE, print, ["compiling the packages of the project"], {"flush": True})
    said.start()
    try:
        command("go", "mod", "download")
        try:
            command("go", "build", "-buildmode=archive", "./...")
        except SetupError as e:
            if not lab:
                raise
            print(e)  # JupyterLab opens all the same: to mend it
    finally:
        said.cancel()


@contextlib.contextmanager
def alone():
    try:
        HOME.mkdir(exist_ok=True)
        lock = open(HOME / "lock", "w")
    except OSError as e:
        if HOME.is_dir() and e.errno in (errno.EROFS, errno.EACCES):
            yield  # a read-only folder that was set up before serves as it is
            return
        raise
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("another set-up is running: waiting for it", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def main():
    if sys.argv[1:] not in (["run"], ["lab"], ["test"], ["cuda"], ["compiler"], ["cluster"], ["plugin"]):
        sys.exit(__doc__)
    test, cuda = sys.argv[1] == "test", sys.argv[1] == "cuda"
    lab = test or sys.argv[1] == "lab"
    version = check()
    with alone(), concurrent.futures.ThreadPoolExecutor() as pool:
        steps = [pool.submit(python, lab, test, cuda), pool.submit(golang, version, lab)]
        if sys.argv[1] == "cluster":
            steps.append(pool.submit(cluster))
        for done in steps:
            done.result()
        if sys.argv[1] == "compiler":
            step("compiler", COMPILER, key(sys.version, HERE / "requirements-cuda.txt"), 1.5e9, make_compiler)
        if sys.argv[1] == "plugin":
            choose(os.environ["PLUGIN"])


if __name__ == "__main__":
    try:
        main()
    except SetupError as e:
        sys.exit(str(e))
    except OSError as e:
        sys.exit(f"setting up needs a folder that can be written, with room: {e}")
    except KeyboardInterrupt:
        sys.exit("interrupted: the next set-up goes on from here")
