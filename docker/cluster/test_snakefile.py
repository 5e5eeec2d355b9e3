"""The Snakefile on this machine's cores, with tasks that are killed: make test-cluster."""
import math
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Calls the program; the first call whose arguments have a text is killed while it computes.
KILLED = """#!/bin/sh
case "$*" in
*"{text}"*) if mkdir "$0.{mark}" 2>/dev/null; then "{study}" "$@" & sleep 0.05; kill -9 $!; wait $!; exit 137; fi ;;
esac
"""


class Snakefile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.study = cls.folder / "study"
        subprocess.run(["go", "build", "-o", cls.study, "./docker/cluster/study"], cwd=ROOT, check=True)
        cls.meshes = cls.folder / "my meshes"
        cls.meshes.mkdir()
        rings = []
        for i, h in enumerate((-0.15, 0, 0.1)):
            angles = [2 * math.pi * k / (12 + i) for k in range(12 + i)]
            rings.append([(10 * (1.3 + h) * math.cos(a), 10 * (1 - h) * math.sin(a)) for a in angles])
            lines = [f"v {x!r} {y!r} 0" for x, y in rings[-1]] + ["l " + " ".join(str(1 + k % len(angles)) for k in range(len(angles) + 1))]
            (cls.meshes / f"{'abc'[i]}.obj").write_text("\n".join(lines))
        cls.table = cls.folder / "my table.csv"
        cls.table.write_text("\n".join(["specimen,x,y"] + [f"{'abc'[i]},{x},{y}" for i, ring in enumerate(rings) for x, y in ring[:12]]))

    def program(self, kills):
        """The program, which is killed once where each of these arguments stands."""
        path = pathlib.Path(tempfile.mkdtemp(dir=self.folder), "study")
        path.write_text("".join(KILLED.format(text=text, mark=k, study=self.study) for k, text in enumerate(kills)) + f'exec "{self.study}" "$@"\n')
        path.chmod(0o755)
        return path

    def snakemake(self, out, target, tasks, data, kills=(), options=""):
        program = self.program(kills)
        return program, [ROOT / ".anatomy/cluster/bin/snakemake", "--snakefile", ROOT / "docker/cluster/Snakefile", "--directory", out, "--cores", "2", "--quiet", "all",
                         "--retries", "2", "--rerun-incomplete", target, "--config", f"data={data}", f"tasks={tasks}", "threads=1", f"study={program}", f"options={options}"]

    def made(self, out, target, tasks, data, kills=(), options=""):
        program, command = self.snakemake(out, target, tasks, data, kills, options)
        done = subprocess.run(command, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(list(program.parent.glob("study.*"))), len(kills), "a task was not killed")
        target = pathlib.Path(out, target)
        own = [target] if target.parent == pathlib.Path(out) else target.parent.iterdir()  # tables lie beside the files of tasks
        # An engine that was killed forgets to remove parts.
        return {p.name: p.read_bytes() for p in own if not p.name.startswith("part")}

    def outs(self, count):
        return [tempfile.mkdtemp(dir=self.folder) for _ in range(count)]

    def test_landmarks(self):
        one, many = self.outs(2)
        want = self.made(one, "register.csv", 1, self.table)
        self.assertEqual(want["register.csv"].count(b"converged"), 3)
        self.assertEqual(self.made(many, "register.csv", 2, self.table, ["register -data", "-task 1 "]), want)
        # Other options, another number of tasks and other data are not overlooked.
        wide = self.made(many, "register.csv", 2, self.table, options="-width 9")
        self.assertNotEqual(wide, want)
        self.assertEqual(self.made(many, "register.csv", 1, self.table, options="-width 9"), wide)
        self.table.write_text(self.table.read_text().replace("c,", "d,"))
        self.assertIn(b",d,", self.made(many, "register.csv", 1, self.table, options="-width 9")["register.csv"])

    def test_rounds(self):
        one, many = self.outs(2)
        want = self.made(one, "rounds/study.csv", 1, self.meshes, options="-detail 0.4")
        self.assertIn("atlas.json", want)
        # One task of each kind is killed, and then the engine itself.
        program, command = self.snakemake(many, "rounds/study.csv", 2, self.meshes, options="-detail 0.4")
        engine = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while not pathlib.Path(many, "rounds/round_2.json").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        os.killpg(engine.pid, signal.SIGKILL)
        engine.wait()
        subprocess.run(command + ["--unlock"], check=True, capture_output=True)
        began = pathlib.Path(many, "rounds/round_1.json").stat().st_mtime_ns
        got = self.made(many, "rounds/study.csv", 2, self.meshes, ["round_3.json -before", "reduce -data"], options="-detail 0.4")
        self.assertEqual(got, want)
        self.assertEqual(pathlib.Path(many, "rounds/round_1.json").stat().st_mtime_ns, began, "what was there was computed again")


if __name__ == "__main__":
    unittest.main()
