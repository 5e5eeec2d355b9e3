"""Installs what `make release` has written on systems that have no Go, no compiler, no clone and no network, and makes a first report there.

    make test-release       needs root, debootstrap, qemu-aarch64-static and 2 GB; prints sizes and seconds

The systems are folders of Debian's packages in .anatomy/clean: x86-64 with Wine and Chromium, and ARM64, which is emulated. Nothing of the machine is
visible in them but its devices, the folder of the release and a file of landmarks, and their network has no other end.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import zipfile

import release

HOME = release.ROOT / ".anatomy" / "clean"
FOLDER = release.ROOT / ".anatomy" / "release"
SUITE, MIRROR = "bookworm", "http://deb.debian.org/debian"
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
# What Linux takes for programs for ARM64 (the first bytes of the file, and which of their bits count), and what runs them.
EMULATED = (r":qemu-aarch64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
            r":\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:%s:F")
# The namespaces of a command: root has no rights outside, processes end with the first one, and of the network there is the loopback.
ENTER = r"""
root=$1 release=$2; shift 2
ip link set lo up
if [ -n "$EMULATED" ]; then
  mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
  printf %s "$EMULATED" > /proc/sys/fs/binfmt_misc/register
fi
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
mount --bind -o ro "$release" "$root/in"
exec chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 "$@"
"""
MODEL = ["--model", "species*site"]


def entered(arch, *command):
    """The command that runs a command on a clean system."""
    return ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", ENTER, "sh",
            str(HOME / arch), str(FOLDER), *map(str, command)]


def environment(arch):
    return {**os.environ, "EMULATED": EMULATED % shutil.which("qemu-aarch64-static") if arch == "arm64" else ""}


def install(arch):
    """Fetches a system once. Packages of another processor than this one are unpacked and not configured, which would need long emulation."""
    folder = HOME / arch
    if (folder / "in").is_dir():
        return
    shutil.rmtree(folder, ignore_errors=True)
    HOME.mkdir(parents=True, exist_ok=True)
    native = release.this_system() == f"linux-{arch}"
    quiet = {"check": True, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    subprocess.run(["unshare", "--mount", "debootstrap", *([] if native else ["--foreign"]), "--variant=minbase", f"--arch={arch}",
                    "--include=python3,python3-venv", SUITE, folder, MIRROR], **quiet)
    if native:
        subprocess.run(["chroot", folder, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-qq", "--no-install-recommends",
                        "wine", "wine64", "chromium"], **quiet)
    for package in sorted((folder / "var/cache/apt/archives").glob("*.deb")):
        if not native:
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        package.unlink()
    (folder / "in").mkdir()


class TestClean(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        for arch in MACHINES:
            install(arch)
            shutil.copyfile(release.ROOT / "landmarks/morpho/data/plethodon_12.csv", HOME / arch / "root" / "heads.csv")

    def on(self, arch, *command):
        """What a command prints on a clean system, and its seconds."""
        start = time.monotonic()
        done = subprocess.run(entered(arch, *command), env=environment(arch), text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout, time.monotonic() - start

    def tell(self, file, seconds, did):
        print(f"{file.stat().st_size / 1e6:8.2f} MB {seconds:6.1f} s  {file.name}: {did}", flush=True)

    def reported(self, arch, *program):
        """The seconds of a report that a program makes, and that it is one."""
        out = HOME / arch / "root" / "report"
        shutil.rmtree(out, ignore_errors=True)
        _, seconds = self.on(arch, *program, "report", "/root/heads.csv", *MODEL, "--out", "/root/report")
        self.assertIn("species:site", (out / "tables" / "anova.csv").read_text())
        self.assertIn("<h2", (out / "index.html").read_text())
        return seconds

    def test_there_is_nothing_else(self):
        for arch in MACHINES:
            said, _ = self.on(arch, "sh", "-c", "command -v go gcc cc git curl; ls /work /home /usr/local/go; ip route; uname -m; true")
            self.assertNotRegex(said, r"(?m)^/")
            self.assertIn(MACHINES[arch], said)

    def test_checksums(self):
        said, _ = self.on("amd64", "sh", "-c", "cd /in && sha256sum -c SHA256SUMS")
        self.assertEqual(said.count(": OK"), len([f for f in FOLDER.rglob("*") if f.is_file()]) - 1)

    def test_programs(self):
        for arch in MACHINES:
            program = FOLDER / f"anatomy-{release.version()}-linux-{arch}"
            shutil.copy(program, HOME / arch / "root" / "anatomy")
            (HOME / arch / "root" / "anatomy").chmod(0o755)
            self.tell(program, self.reported(arch, "/root/anatomy"), "a report" + " by emulation" * (arch == "arm64"))

    def test_windows(self):
        program = FOLDER / f"anatomy-{release.version()}-windows-amd64.exe"
        wine = "env", "WINEDEBUG=-all", "DISPLAY=", "/usr/lib/wine/wine64"
        self.on("amd64", *wine, f"/in/{program.name}", "--version")  # Wine makes its folder
        self.tell(program, self.reported("amd64", *wine, f"/in/{program.name}"), "a report in Wine")

    def test_wheels(self):
        """pip takes the wheel with Space; both examples of the README run, and say whose machine code computed."""
        report, space = re.findall(r"```python\n(.*?)```", (release.HERE / "README.md").read_text(), re.DOTALL)
        for arch, machine in MACHINES.items():
            root = HOME / arch / "root"
            shutil.copyfile(release.ROOT / "landmarks/morpho/data/corpus_callosum_39.csv", root / "callosa.csv")
            platforms = [f"--platform=manylinux_2_{n}_{machine}" for n in (34, 28, 27, 17)]
            [wheel] = FOLDER.glob(f"*manylinux_2_34_{machine}.whl")
            shutil.rmtree(root / "wheels", ignore_errors=True)
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--only-binary=:all:",
                            "--python-version=3.11", *platforms, f"--find-links={FOLDER}", f"--dest={root / 'wheels'}", "numpy", "pandas", *self.extra(wheel)], check=True)
            shutil.rmtree(root / "v", ignore_errors=True)
            start = time.monotonic()
            self.on(arch, "python3", "-m", "venv", "/root/v")
            self.on(arch, "/root/v/bin/pip", "install", "-q", "--no-index", "--find-links=/root/wheels", "--find-links=/in",
                    "anatomy-shapes[pandas,space]")
            self.assertTrue((root / "v/bin/anatomy-space").is_file(), "pip has taken the wheel without Space")
            shutil.rmtree(root / "supplement", ignore_errors=True)
            said, _ = self.on(arch, "sh", "-c", 'cd /root && exec v/bin/python -c "$0"', report)
            self.assertIn("(40, 12, 2) converged", said)
            self.assertTrue((root / "supplement" / "index.html").is_file())
            self.tell(wheel, time.monotonic() - start, "a new environment, pip install, and README's first example")
            said, seconds = self.on(arch, "sh", "-c", 'cd /root && exec v/bin/python -c "$0"', space)
            self.assertIn("geodesic of length 23.11, converged", said)
            self.tell(wheel, seconds, "README's second example, with XLA")
            said, _ = self.on(arch, "/root/v/bin/anatomy-space", "--version")
            self.assertRegex(said, r"XLA: \S+\.so of .*, built by .*; SHA-256 [0-9a-f]{64}\n")

    def extra(self, wheel):
        """What the extra `space` of a wheel requires on its system, without the marker."""
        with zipfile.ZipFile(wheel) as archive:
            metadata = next(archive.read(n).decode() for n in archive.namelist() if n.endswith("METADATA"))
        machine = wheel.stem.rpartition("2_34_")[2]
        return [line.split()[1] for line in metadata.splitlines() if line.startswith("Requires-Dist") and f"'{machine}'" in line]

    def test_page(self):
        from playwright.sync_api import expect, sync_playwright
        page_file = FOLDER / f"anatomy-{release.version()}.html"
        with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
            browser = pathlib.Path(folder, "chromium")
            words = " ".join("'" + w.replace("'", "'\\''") + "'" for w in entered("amd64", "/usr/lib/chromium/chromium"))
            browser.write_text(f"#!/bin/sh\nexec env EMULATED= {words} \"$@\"\n")
            browser.chmod(0o755)
            start = time.monotonic()
            chromium = playwright.chromium.launch(executable_path=str(browser), args=["--no-sandbox"])
            page = chromium.new_page()
            page.goto(f"file:///in/{page_file.name}")
            expect(page.locator("#status")).to_have_text("Ready.", timeout=120_000)
            data = (release.ROOT / "landmarks/morpho/data/plethodon_12.csv").read_bytes()
            page.set_input_files("#data", {"name": "heads.csv", "mimeType": "text/csv", "buffer": data})
            page.click("#inspect")
            expect(page.locator("#about")).to_contain_text("40 specimens", timeout=120_000)
            page.fill("#model", "species*site")
            page.click("#report")
            expect(page.locator("#status")).to_contain_text("Done in", timeout=240_000)
            self.tell(page_file, time.monotonic() - start, "the browser opens, and shows a report")
            chromium.close()

    def test_source(self):
        """The source archive holds what is committed, and gives the bytes of the released program."""
        archive = FOLDER / f"anatomy-{release.version()}-source.tar.gz"
        self.on("amd64", "sh", "-c", f"cd /root && rm -rf anatomy-{release.version()} && tar xzf /in/{archive.name}")
        system = release.this_system()
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
            start = time.monotonic()
            subprocess.run([*release.GO_BUILD, "-o", f"{folder}/anatomy", "./landmarks/morpho/anatomy"], check=True, env=release.PURE,
                           cwd=f"{folder}/anatomy-{release.version()}")
            made = hashlib.sha256(pathlib.Path(folder, "anatomy").read_bytes()).hexdigest()
            self.tell(archive, time.monotonic() - start, "the program, compiled from it on this machine, has the released bytes")
        self.assertEqual(made, hashlib.sha256((FOLDER / f"anatomy-{release.version()}-{system}").read_bytes()).hexdigest())


if __name__ == "__main__":
    unittest.main()
