"""What set-up and the kernel's start say where something is missing: python -m unittest (in this folder)."""
import contextlib
import errno
import io
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import setup

HERE = pathlib.Path(__file__).resolve().parent


class Setup(unittest.TestCase):
    def copied(self, root):
        """A checkout of what set-up reads first, in a folder."""
        folder = pathlib.Path(root, "kernels", "jupyter")
        folder.mkdir(parents=True)
        for name in "setup.py", "launch":
            shutil.copy(HERE / name, folder)
        shutil.copy(HERE.parents[1] / "go.mod", root)
        return folder

    def said(self, *args, **options):
        done = subprocess.run(args, capture_output=True, text=True, timeout=60, **options)
        self.assertNotIn("Traceback", done.stderr)
        return done.returncode, done.stderr

    def test_what_is_missing_is_made_again(self):
        made = []
        with tempfile.TemporaryDirectory() as home, unittest.mock.patch.object(setup, "HOME", pathlib.Path(home)):
            plugin = pathlib.Path(home, "venv", "plug-in.so")

            def work(again):
                made.append(again)
                plugin.write_text("whole")

            for spoil, times in ((lambda: None, 1), (lambda: None, 1), (plugin.unlink, 2), (lambda: plugin.write_text("cut"), 3), (lambda: None, 3)):
                spoil()
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    setup.step("python", plugin.parent, "pins", 0, work)
                self.assertEqual(len(made), times)
                self.assertRegex(said.getvalue(), r"\Asetting up python: fetches .*\nset up python \(0 s\)\n\Z|\A\Z")
            with contextlib.redirect_stdout(io.StringIO()):
                setup.step("python", plugin.parent, "other pins", 0, work)
                with self.assertRaises(KeyboardInterrupt):
                    setup.step("jupyterlab", plugin.parent, "pins", 0, unittest.mock.Mock(side_effect=KeyboardInterrupt))
                setup.step("jupyterlab", plugin.parent, "pins", 0, work)
            self.assertEqual(made, [False, True, True, False, True])

    def test_what_was_interrupted_is_installed_again(self):
        # pip takes a package whose metadata it finds for installed.
        with unittest.mock.patch.object(setup, "command") as command:
            for again in False, True:
                setup.install("requirements.txt", again)
        self.assertEqual(["--ignore-installed" in call.args for call in command.call_args_list], [False, False, True])

    def test_a_folder_set_up_with_cuda_may_be_read_only(self):
        with tempfile.TemporaryDirectory() as home, contextlib.ExitStack() as stack:
            home = pathlib.Path(home)
            (home / "cuda").touch()
            for name, value in ("HOME", home), ("VENV", home / "venv"), ("CUDA_WANTED", home / "cuda"):
                stack.enter_context(unittest.mock.patch.object(setup, name, value))
            step = stack.enter_context(unittest.mock.patch.object(setup, "step"))
            stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            with unittest.mock.patch.object(pathlib.Path, "touch", side_effect=OSError(errno.EROFS, "Read-only file system")):
                setup.python(False, False, False)
            self.assertEqual([call.args[0] for call in step.call_args_list], ["python", "cuda"])

    def test_a_plug_in_is_chosen(self):
        # One that cannot be opened, or is another one than said, leaves the choice before it.
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
            folder = pathlib.Path(folder)
            home, packages = folder / ".anatomy", folder / ".anatomy" / "venv" / "lib" / "python3.11" / "site-packages"
            packages.mkdir(parents=True)
            for name, value in ("HOME", home), ("VENV", home / "venv"), ("CHOSEN", home / "plugin"), ("SYSTEM", ("Linux", "x86_64")):
                stack.enter_context(unittest.mock.patch.object(setup, name, value))
            stack.enter_context(unittest.mock.patch.dict(os.environ, HOME=str(folder)))
            good = {"plugin": "mine.so, built by …", "device": "cpu:0"}
            opened = stack.enter_context(unittest.mock.patch.object(setup, "backend", return_value=(good, "")))
            mine = folder / "mine.dylib"
            mine.write_text("machine code")

            def choose(plugin):
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    setup.choose(plugin)
                return said.getvalue(), sorted(p.name for p in packages.glob("anatomy_plugin/*"))

            self.assertEqual(choose(str(mine)), ("XLA: mine.so, built by …\n", ["mine.so"]))
            self.assertEqual((packages / "anatomy_plugin" / "mine.so").read_text(), "machine code")
            is_that = "#sha256=" + setup.hashlib.sha256(b"machine code").hexdigest().upper()
            self.assertEqual(choose(str(mine) + is_that)[1], ["mine.so"])
            for wrong, said in ((str(folder / "none.so"), "no such file, and none of the names wheel, .*gomlx"), ("", "no such file"), ("cuda", "no such file"),
                                (str(folder), "no such file"), (str(mine) + "#sha256=12", f"{mine} has the SHA-256 .*, not 12"), ("gomlx", "could not fetch")):
                with self.assertRaisesRegex(setup.SetupError, said):
                    setup.choose(wrong)
            for device in "", "cuda:0":
                opened.return_value = {"plugin": "", "device": device}, "invalid ELF header"
                with self.assertRaisesRegex(setup.SetupError, "cannot be opened as XLA for the CPU; what was in use stays:\ninvalid ELF header"):
                    setup.choose(str(mine))
            self.assertEqual(sorted(os.listdir(home)), ["plugin", "venv"])
            opened.return_value = good, ""
            for number in "9.1", "10.2":
                put = folder / ".local" / "lib" / "go-xla" / f"pjrt_c_api_cpu_v{number}_plugin.so"
                put.parent.mkdir(parents=True, exist_ok=True)
                put.write_text(number)
            self.assertEqual(choose("gomlx")[1], ["pjrt_c_api_cpu_v10.2_plugin.so"])
            for name in "wheel", "fastatomstruct-xla-cpu":
                self.assertEqual(choose(name), ("XLA is that of the wheel for this system\n", []))
            self.assertEqual(choose(str(mine))[1], ["mine.so"])

    def test_a_plug_in_of_a_wheel(self):
        # That of another system than this one has the same pins, without the marker.
        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.object(setup, "command") as command:
            plugin = pathlib.Path(folder, "wheel", "a", "b.so")
            plugin.parent.mkdir(parents=True)
            plugin.touch()
            for name in setup.PLUGINS.values():
                self.assertEqual(setup.of_wheel(name, pathlib.Path(folder)), plugin)
                self.assertRegex(pathlib.Path(folder, "requirements.txt").read_text(), rf"\A{name}==\S+ \\\n( +--hash=sha256:\w+( \\)?\n)+\Z")
                self.assertIn("--require-hashes", command.call_args.args)

    def test_a_full_disk_is_told_before(self):
        with tempfile.TemporaryDirectory() as home, unittest.mock.patch.object(setup, "HOME", pathlib.Path(home)):
            folder = pathlib.Path(home, "venv")
            folder.mkdir()
            with self.assertRaisesRegex(setup.SetupError, "setting up python needs .* GB in .* are free there"):
                setup.step("python", folder, "pins", 1e18, self.fail)
            self.assertEqual(list(folder.iterdir()), [])

    def test_no_kernel(self):
        with tempfile.TemporaryDirectory() as root:
            status, text = self.said(self.copied(root) / "launch", "connection.json")
        self.assertEqual(status, 1)
        self.assertEqual(text, f"anatomy kernel: {os.path.realpath(root)} is not set up: run `make kernel` there\n")

    def plant(self, folder, *names):
        """Programs that say they ran."""
        for name in names:
            program = pathlib.Path(folder, name)
            program.write_text('#!/bin/sh\necho "$0 ran" >&2\nexit 1\n')
            program.chmod(0o700)

    def test_relative_folders_of_the_path(self):
        # Not even where they hold a program that is looked for.
        for relative in ".", "", "bin":
            with self.subTest(relative), tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as notebooks:
                folder = self.copied(root)
                for where in notebooks, root:
                    pathlib.Path(where, "bin").mkdir()
                    self.plant(pathlib.Path(where, relative), "go", "dirname", "grep", "sed", "uname", "gcc", "cc")
                env = dict(os.environ, PATH=f"{relative}:{os.environ['PATH']}")
                self.assertEqual(self.said(folder / "launch", "connection.json", cwd=notebooks, env=env),
                                 (1, f"anatomy kernel: {os.path.realpath(root)} is not set up: run `make kernel` there\n"))
                script = "import setup; print(setup.command('go', 'env', 'GOOS')); setup.command('cc', '--version')"
                for where in notebooks, root:
                    self.assertEqual(self.said(sys.executable, "-c", script, cwd=where, env=dict(env, PYTHONPATH=str(folder))), (0, ""))

    def test_the_module_of_a_notebook(self):
        # Cells import its packages, unless somebody else may have put them there.
        with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as mine:
            root, mine = os.path.realpath(root), os.path.realpath(mine)
            launch, programs, notebooks = self.copied(root) / "launch", pathlib.Path(root, ".anatomy", "bin"), pathlib.Path(mine, "notebooks")
            programs.mkdir(parents=True)
            notebooks.mkdir()
            subprocess.run(["go", "build", "-o", programs / "module", "./kernels/jupyter/module"], cwd=HERE.parents[1], check=True)
            (programs / "gonb").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
            (programs / "gonb").chmod(0o700)

            def modules():
                done = subprocess.run([launch, "connection.json"], cwd=notebooks, capture_output=True, text=True, check=True)
                return next(line for line in done.stdout.splitlines() if line.startswith("-go_work=")).removeprefix("-go_work="), done.stderr

            self.assertEqual(modules(), (root, ""))
            for name, want in ("mine", f"{root},{mine}"), ("anatomy", mine):
                pathlib.Path(mine, "go.mod").write_text(f"module {name}\n")
                self.assertEqual(modules(), (want, ""))
                os.chmod(mine, 0o777)
                used, said = modules()
                self.assertEqual(used, root)
                self.assertRegex(said, f"^anatomy kernel: cells do not have the packages around the notebook: everybody may write to {mine} ")
                os.chmod(mine, 0o755)
                self.assertEqual(modules(), (want, ""))
                for unreadable in "go 1.99", "go 1.26\n\ntoolchain go1.99.1\n\nnonsense", "require":
                    pathlib.Path(mine, "go.mod").write_text(f"module {name}\n\n{unreadable}\n")
                    used, said = modules()
                    self.assertEqual(used, root)
                    self.assertRegex(said, "^anatomy kernel: cells do not have the packages around the notebook: go: .*go(.mod| 1.99)")
                pathlib.Path(mine, "go.mod").write_text(f"module {name}\n")
                if os.geteuid() == 0:  # only root can give a folder away
                    os.chown(mine, 65534, -1)
                    used, said = modules()
                    self.assertEqual(used, root)
                    self.assertIn(f"{mine} belongs to ", said)
                    os.chown(mine, 0, -1)

    @unittest.skipUnless(shutil.which("git"), "no git here")
    def test_a_repository_around_the_folder(self):
        # Of which Go would ask git, which runs the program that it names; and of one that is somebody else's no cell would be compiled.
        with tempfile.TemporaryDirectory() as around:
            root, ran, program = (pathlib.Path(around, name) for name in ("anatomy", "ran", "program"))
            folder = self.copied(root)
            (root / "go.mod").write_text("module anatomy\n\ngo 1.26\n")
            (root / "main.go").write_text('package main\n\nfunc main() { println("x") }\n')
            program.write_text(f"#!/bin/sh\ntouch '{ran}'\nexit 1\n")
            program.chmod(0o700)
            git = ["git", "-C", around, "-c", "user.name=A", "-c", "user.email=a@b.c"]
            for args in ["init", "-q"], ["add", "anatomy"], ["commit", "-q", "-m", "x"], ["config", "core.fsmonitor", str(program)]:
                subprocess.run([*git, *args], check=True)
            (root / ".anatomy" / "bin").mkdir(parents=True)
            for name, does in ("module", ""), ("gonb", f"cd '{root}' && go build -o /dev/null ."):
                (root / ".anatomy" / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
                (root / ".anatomy" / "bin" / name).chmod(0o700)
            build = ["go", "build", "-o", "/dev/null", "."]
            env = {name: value for name, value in os.environ.items() if name != "GOFLAGS"}
            subprocess.run(build, cwd=root, env=dict(env, GOFLAGS="-buildvcs=true"), capture_output=True)
            self.assertTrue(ran.exists(), "the bait is none")
            ran.unlink()
            for owner in [os.geteuid(), 65534][:2 if os.geteuid() == 0 else 1]:  # only root can give a folder away
                os.chown(pathlib.Path(around, ".git"), owner, -1)
                for flags in "", "-mod=mod", "-buildvcs=true":
                    with self.subTest(owner=owner, flags=flags), unittest.mock.patch.dict(os.environ, GOFLAGS=flags):
                        setup.command(*build, cwd=root)
                        self.assertEqual(self.said(folder / "launch", "connection.json", cwd=root), (0, ""))
                        self.assertFalse(ran.exists())

    def test_no_loopback(self):
        alone = ["unshare", "--map-root-user", "--net"]
        if not shutil.which("unshare") or subprocess.run([*alone, "true"], capture_output=True).returncode:
            self.skipTest("no network namespaces here")
        with tempfile.TemporaryDirectory() as root:
            status, text = self.said(*alone, sys.executable, self.copied(root) / "setup.py", "run")
            self.assertFalse(pathlib.Path(root, ".anatomy").exists())
        self.assertEqual(status, 1)
        self.assertRegex(text, r"(?m)^missing: the loopback interface, .*: `ip link set lo up`$")

    def test_an_older_go(self):
        wanted = next(line.split()[1] for line in (HERE.parents[1] / "go.mod").read_text().splitlines() if line.startswith("go "))
        major, minor, patch = map(int, wanted.split("."))
        before = f"go{major}.{minor}.{patch - 1}" if patch else f"go{major}.{minor}rc2"
        for version, new_enough in (("go" + wanted, True), (f"go{major}.{minor + 1}rc1", True), (f"go{major}.{minor}.{patch + 10}-custom", True),
                                    (before, False), (f"go{major}.{minor}rc1", False), (f"go{major}.{minor - 1}.99", False)):
            # One tool is missing in any case, so that nothing is set up.
            with self.subTest(version), tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as tools:
                go = pathlib.Path(tools, "go")
                go.write_text(f"#!/bin/sh\necho go: downloading >&2\nprintf '{version}\\nno-compiler\\n1\\n'\n")
                go.chmod(0o700)
                status, text = self.said(sys.executable, self.copied(root) / "setup.py", "run",
                                         env=dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}"))
                self.assertEqual(status, 1)
                self.assertIn("missing: a C compiler (Go calls no-compiler)", text)
                self.assertEqual(f"missing: Go {wanted} or newer (this is {version}): " in text, not new_enough, text)
                self.assertFalse(pathlib.Path(root, ".anatomy").exists())

    def test_a_toolchain_that_cannot_be_fetched(self):
        with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as tools:
            go = pathlib.Path(tools, "go")
            go.write_text("#!/bin/sh\necho 'go: download go1.99.0: toolchain not available' >&2\nexit 1\n")
            go.chmod(0o700)
            status, text = self.said(sys.executable, self.copied(root) / "setup.py", "run", env=dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}"))
        self.assertEqual(status, 1)
        self.assertRegex(text, r"(?s)^missing: Go \S+ or newer: Debian .*go1\.99\.0: toolchain not available")

    def test_folders_that_tools_cannot_take(self):
        for c in ",:;'\"`\\\n":
            with self.subTest(c), tempfile.TemporaryDirectory(suffix=c + "x") as root:
                status, text = self.said(sys.executable, self.copied(root) / "setup.py", "run")
                self.assertEqual(status, 1)
                self.assertIn(f" has {c!r} in its name", text)
                self.assertFalse(pathlib.Path(root, ".anatomy").exists())

    def test_a_folder_that_loops(self):
        with tempfile.TemporaryDirectory() as root:
            folder = self.copied(root)
            pathlib.Path(root, ".anatomy").symlink_to(".anatomy")
            status, text = self.said(sys.executable, folder / "setup.py", "run")
        self.assertEqual(status, 1)
        self.assertRegex(text, "^setting up needs a folder that can be written, with room: .*\\.anatomy'\n$")


if __name__ == "__main__":
    unittest.main()
