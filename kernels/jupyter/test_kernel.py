"""Conformance of the kernel: jupyter-kernel-test for what it claims, and what the protocol's tests do not look at."""
import contextlib
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import jupyter_client
import jupyter_kernel_test
from jupyter_client.manager import start_new_kernel

from sequences import SEQUENCES

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOW = '%%\nviz.Show(viz.Outline(morpho.CorpusCallosum().Shape("jhu_atlas")))'


def start(**env):
    """Starts a kernel in the folder of the notebooks, with a temporary folder of its own."""
    folder = tempfile.TemporaryDirectory()
    manager, client = start_new_kernel(kernel_name="anatomy", cwd=str(ROOT / "notebooks"), env=dict(os.environ, TMPDIR=folder.name, **env))
    return manager, client, folder


def ready(client):
    """Waits until gopls has read the packages, and returns what Tab and Shift-Tab say until then."""
    said = set()
    for _ in range(600):
        matches = client.complete("math.", reply=True, timeout=60)["content"]["matches"]
        if "Sqrt" in matches:
            return said
        said |= {*matches, *client.inspect("math.Sqrt", cursor_pos=6, reply=True, timeout=60)["content"]["data"].values()}
        time.sleep(0.5)
    raise AssertionError("gopls is not ready")


def passing(message):
    """Whether a message is a line that says what takes long."""
    return "-progress-" in message["content"].get("transient", {}).get("display_id", "")


class Protocol(jupyter_kernel_test.KernelTests):
    """Not claimed, so skipped: values of expressions as results, a pager, clear_output, history."""
    kernel_name = "anatomy"
    language_name = "go"
    file_extension = ".go"
    code_hello_world = '%%\nfmt.Println("hello, world")'
    code_stderr = '%%\nfmt.Fprintln(os.Stderr, "hello")'
    completion_samples = [
        {"text": "%%\nmorpho.CorpusC", "matches": {"CorpusCallosum", "CorpusCallosumOutline"}},
        {"text": "%%\ncc := morpho.CorpusCallosum()\ncc.Spac", "matches": {"Spacing"}},
        {"text": "%%\nviz.Arro", "matches": {"Arrows"}},
        {"text": "%%\nmath.Hypo", "matches": {"Hypot"}},
    ]
    complete_code_samples = ["%%\nfmt.Println(1)", "func f() int { return 1 }", "var x = 1"]
    incomplete_code_samples = ["func f() {", "%%\nfmt.Println(", "var s = `a"]
    invalid_code_samples = ["f(1]", 'var s = "a']
    code_generate_error = "%%\nnonsense()"
    code_display_data = [
        {"code": SHOW, "mime": "image/png"},
        {"code": SHOW, "mime": "image/svg+xml"},
        {"code": '%%\nnb.Printf("$x$")', "mime": "text/markdown"},
    ]
    code_inspect_sample = "%%\nmorpho.Procrustes"

    @classmethod
    def setUpClass(cls):
        cls.km, cls.kc, cls.folder = start()
        ready(cls.kc)

    def execute_helper(self, *args, **options):
        reply, messages = super().execute_helper(*args, **options)
        return reply, [m for m in messages if not passing(m)]

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()


class Kernel(unittest.TestCase):
    def setUp(self):
        self.manager, self.client, self.folder = start()

    def tearDown(self):
        if self.manager.has_kernel:
            self.client.stop_channels()
            self.manager.shutdown_kernel()
        self.folder.cleanup()

    def execute(self, code, timeout=60):
        """Runs a cell; returns its reply and the text that it wrote, with that of values."""
        text, self.types = [], set()

        def hook(message):
            data = message["content"].get("data", {}) if not passing(message) else {}
            text.append(message["content"].get("text", "") or data.get("text/plain", ""))
            self.types |= data.keys()

        reply = self.client.execute_interactive(code, timeout=timeout, output_hook=hook)
        return reply["content"], "".join(text)

    def reply(self):
        """The next reply to a cell; on a busy machine answers to the question whether the kernel is there come late."""
        while (message := self.client.get_shell_msg(timeout=60))["msg_type"] != "execute_reply":
            pass
        return message

    def fails(self, code):
        reply, _ = self.execute(code)
        self.assertEqual(reply["status"], "error", code)
        return reply

    def test_first_cells_with_a_cold_cache_under_load(self):
        # gopls has C compiled while the first cells are built: its files must not lie among those of the cell.
        self.tearDown()
        load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
        with tempfile.TemporaryDirectory() as cache:
            try:
                self.manager, self.client, self.folder = start(GOCACHE=cache)
                for i in range(40):
                    reply, text = self.execute(f"%%\nfmt.Print({i})", 300)
                    self.assertEqual((reply.get("evalue"), text), (None, str(i)))
            finally:
                self.tearDown()
                for process in load:
                    process.kill()
                    process.wait()

    def test_flags_of_the_user_do_not_break_cells(self):
        self.tearDown()
        self.manager, self.client, self.folder = start(GOFLAGS="-mod=mod -modfile=/nothing -modcacherw")
        self.assertEqual(self.execute("morpho.CorpusCallosum().Spacing() > 0"), (unittest.mock.ANY, "true"))

    def test_statements_need_no_marker(self):
        self.assertEqual(self.execute("type pair struct{ A, B int }\n\nfunc (p *pair) swap() { p.A, p.B = p.B, p.A }\nvar n = 2")[0]["status"], "ok")
        for code, want in {
            'fmt.Print("a")': "a",
            '%% fmt.Print("b")': "b",
            "p := pair{n, 3}\np.swap()\nfmt.Print(p.A)\n// the end": "3",
            "var m = n + 1\nx := m\nfunc twice(i int) int { return 2 * i }\nfmt.Print(twice(x), m)": "6 3",
            "!echo shell\nfmt.Print(n)": "shell\n2",
            # what shows no value
            "p := pair{}\np.swap()": "",
            "sort.Ints([]int{n})": "",
            "math.Sqrt(2);": "",
            "x := 1\n_ = x": "",
            # values
            "n + 1": "3",
            "math.Sqrt(2) // a root": "1.4142135623730951",
            "%%\ntwice(m)": "6",
            "pair{1, 2}": "{A:1 B:2}",
            "strconv.Atoi(\n\t`12`,\n)": "12",
            "[][]float64{{1, 2}, {3, 4}}": "[1 2]\n[3 4]",
            "geom.Converged": "converged",
            "os.Remove(os.DevNull + `/nothing`)": None,
            "n, 1.5": "2\n1.5",
        }.items():
            with self.subTest(code):
                reply, text = self.execute(code)
                self.assertEqual(reply["status"], "error" if want is None else "ok", reply)
                self.assertIn(text, (want, text if want is None else want))

    def test_a_figure_is_shown(self):
        self.assertEqual(self.execute('var callosum = morpho.CorpusCallosum().Shape("jhu_atlas")\nviz.Outline(callosum)')[0]["status"], "ok")
        self.assertEqual(self.types, {"image/png", "image/svg+xml", "text/plain"})
        self.assertEqual(self.execute("func figure() *viz.Figure { return viz.Fig(viz.Outline(callosum)) }")[0]["status"], "ok")
        self.execute("figure()")
        self.assertEqual(self.types, {"image/png", "image/svg+xml", "text/plain"})

    def test_a_stock_notebook_runs(self):
        for code, want in {
            'package main\n\nimport (\n\t"flag"\n\t"fmt"\n)\n\nvar who = flag.String("who", "world", "")\n\nfunc main() {\n\tflag.Parse()\n\tfmt.Println("hello", *who)\n}':
                "hello world\n",
            '%% --who="you and me"\nfmt.Println("hello", *who)': "hello you and me\n",
            "const (\n\ta = iota\n\tb\n)\n\ntype T[K any] struct{ k K }\n\nfunc (t T[K]) String() string { return fmt.Sprint(t.k) }\n\nfunc init_b() { fmt.Print(`init `) }": "init ",
            "%%\nfmt.Println(T[int]{b})": "init 1\n",
            "%main\nfor i := range 2 {\n\tfmt.Print(i)\n}": "init 01",
            "func run() { fmt.Print(`run`) }\n%exec run": "init run",
            "//gonb:%%\nfmt.Print(a)": "init 0",
            "func init() { fmt.Print(`once `) }\nfmt.Print(a)": "once init 0",
            "fmt.Print(b)": "init 1",
            "%test\nfunc TestA(t *testing.T) { fmt.Println(`tested`) }": None,
            "%%bash\necho bash": "bash\n",
        }.items():
            with self.subTest(code):
                reply, text = self.execute(code)
                self.assertEqual(reply["status"], "ok", reply)
                self.assertIn(text, (want, text if want is None else want))

    def test_errors_explain(self):
        self.execute("M := landmarks.New(2, 2, kernels.Gaussian(1))\nq := [][]float64{{0, 0}, {1, 0}}")
        for code, message in {
            "M.Dims()": "has no field or method Dims",
            "M := landmarks.New(2, 2, kernels.Gaussian(1))\nr := M.Log(nil, nil)\nr": "if the last is an error, nb.Must(M.Log(…)) takes it",
            "y := 1\nfunc f() int { return y }\nf()": "a function does not see",
            "func h() {\n\tgröße := 1\n}": "leave it out, or write `_ = größe`",
            "z = 1": "`z := …` assigns to a new variable",
        }.items():
            with self.subTest(code):
                self.assertIn(message, self.fails(code)["evalue"])
        reply = self.fails("x := 1\nfmt.Print(a, a)\nfmt.Print(a)")
        self.assertEqual(reply["evalue"].count("\n"), 0, reply["evalue"])

    def test_what_python_has_says_what_go_has(self):
        self.execute("a := []float64{1, 2, 3}")
        for code, message in {
            "import numpy as np": "floats and stat compute with []float64",
            "from math import sqrt": "a package is imported where a cell names it",
            "np.array([]float64{1})": "floats and stat compute with []float64",
            "frobnicate.Read(1)": "no variable and no package has this name",
            "landmark.New(2, 2, nil)": "(did you mean landmarks?)",
            "a + 1": "floats.AddConst(1, a)",
            "a * a": "floats.Mul(a, b)",
            "a[-1]": "in Go `a[len(a)-1]`",
            "a.append(3)": "in Go `a = append(a, x)`",
            "for i in range(3):\n    print(i)": "in Go `for i := range 3 { … }`",
            "if a[0] > 0:\n    print(1)": "in Go a block stands in braces",
            "if a[0] == 3: print(1)": "in Go a block stands in braces",
            'print(f"{a[0]:.2f}")': "in Go `fmt.Sprintf(",
            "b := [2 * x for x in a]": "in Go a loop: `for _, x := range a",
            "type(a)": '`fmt.Printf("%T", a)`',
            "help()": "%help",
            "fmt.Printn(1)": "(did you mean fmt.Print",
            "def f(x): return x": "in Go `func f(",
            "x := 'abc'": 'a text stands in double quotes: `"abc"`',
            "[1, 2]": "a list is `[]float64{1, 2}`",
            "True": "in Go `true`",
            "# no": "a comment begins with //",
            "func f() {\n\tx := 1\n}": "leave it out, or write `_ = x`",
        }.items():
            with self.subTest(code):
                evalue = self.fails(code)["evalue"]
                self.assertIn(message, evalue)
                self.assertNotRegex(evalue, r"goroutine|0x|exit status")

    def test_a_cell_has_no_keyboard(self):
        self.assertIn("line 2: a cell has no keyboard: write the value into the cell", self.fails("var name string\nfmt.Scanln(&name)")["evalue"])
        self.assertIn("a cell has no keyboard", self.fails("io.ReadAll(os.Stdin)")["evalue"])
        self.assertEqual(self.execute("!cat; echo end", 20)[1], "end\n")

    def test_commands_of_python_say_what_to_do(self):
        for code, want in {"%time": "Record timing", "%%time\nfmt.Print(1)": "Record timing", "%who": "%ls lists", "%pip install numpy": "go get", "%matplotlib inline": "viz.Plot"}.items():
            with self.subTest(code):
                self.assertIn(want, self.execute(code)[1])

    def test_the_error_is_what_the_program_says_in_the_end(self):
        # Nothing else: no exit status, no numbers of goroutines, no addresses.
        self.execute("func f() { panic(errors.New(`in f`)) }")
        folder = re.escape(f"(in the folder {ROOT}/notebooks)")
        for code, wanted in {
            '\nnb.Must(morpho.Read("nothing.csv"))': rf"cell \[N\], line 2: error: (open|stat) nothing.csv: .* {folder}",
            'morpho.Read("nothing.csv")': rf"cell \[N\], line 1: error: (open|stat) nothing.csv: .* {folder}",
            'nb.Check("one", 2, 1, 0.1)': r"cell \[N\], line 1: ✗ one: got 2, want 1 ± 0\.1, differs by 1",
            'morpho.CorpusCallosum().Shape("x")': r'cell \[N\], line 1: panic: .*: no specimen "x"; there are: "jhu_atlas", "colin27"',
            "fmt.Print(1)\nf()": r"cell \[1\], line 1: panic: in f\n    in f, cell \[1\], line 1\n    in main, cell \[N\], line 2",
            "var a []int\nfmt.Print(a[len(os.Args)])": r"cell \[N\], line 2: panic: runtime error: index out of range \[1\] with length 0",
        }.items():
            with self.subTest(code):
                reply, text = self.execute(code)
                self.assertEqual((reply["status"], text), ("error", "1" if code.startswith("fmt") else ""))
                said = wanted.replace("N", str(reply["execution_count"]))
                self.assertRegex(reply["evalue"], rf"\A{said}\Z")
                self.assertEqual("\n".join(reply["traceback"]).replace("\x1b[31m", "").replace("\x1b[0m", ""), reply["evalue"])
        reply, text = self.execute('fmt.Fprintln(os.Stderr, "panic: not at all")')
        self.assertEqual((reply["status"], text), ("ok", "panic: not at all\n"))

    def test_an_import_takes_the_place_of_another(self):
        self.assertEqual(self.execute('import "math/rand"\nrand.Intn(1)')[1], "0")
        self.assertEqual(self.execute('import "math/rand/v2"\nrand.IntN(1)')[1], "0")
        self.assertEqual(self.execute("rand.IntN(1)")[1], "0")

    def test_a_killed_cell_and_places_in_pieces(self):
        self.assertEqual(self.execute('fmt.Print("a")')[1], "a")  # and nothing else
        self.assertEqual(self.fails("syscall.Kill(os.Getpid(), syscall.SIGKILL)")["evalue"], "signal: killed: the system does so if memory runs out")
        pieces = 'for _, piece := range []string{"at ", os.Getenv("GONB_TMP_DIR") + "/main.go", ":", "1", "2 +0x1\\n"} {\n\tos.Stderr.WriteString(piece)\n\ttime.Sleep(50 * time.Millisecond)\n}'
        self.assertRegex(self.execute(pieces)[1], r"^at cell \[\d+\], line \d+ \+0x1\n$")

    def test_compile_errors_are_at_their_line(self):
        self.execute("func twice(x float64) float64 { return 2 * x }")
        for code, message in {
            "%%\nfmt.Println(1)\nviz.Show(viz.Outline(nil).Color(viz.Vermillion))":
                "cell [{n}], line 3: undefined: viz.Vermillion (did you mean viz.Vermilion?)",
            "%%\nx := 1\n\tmath.Sine(x)": "cell [{n}], line 3: undefined: math.Sine",
            '%%\nfmt.Println(twice("a"))': 'cell [{n}], line 2: cannot use "a" (untyped string constant) as float64 value in argument to twice',
            "func broken( {\n}": "cell [{n}], line 1: ",
            "%%\nfor {": "cell [{n}], line ",
        }.items():
            with self.subTest(code):
                reply = self.fails(code)
                self.assertIn(message.format(n=reply["execution_count"]), reply["evalue"])
                self.assertNotIn("/main.go", "".join(reply["traceback"]))
        self.assertIn("     3 | ", "".join(self.fails("%%\nfmt.Println(1)\nnonsense()")["traceback"]))
        self.assertIn("4", self.execute("%%\nfmt.Println(twice(2))")[1])

    def test_run_all_stops_at_an_error(self):
        for code in ("%%\ntime.Sleep(time.Second)\nos.Exit(3)", '%%\nfmt.Println("too far")', '%%\nfmt.Println("too far")'):
            self.client.execute(code)
        replies = [self.reply()["content"]["status"] for _ in range(3)]
        self.assertEqual(replies, ["error", "aborted", "aborted"])
        self.assertEqual(self.execute('%%\nfmt.Print("on")'), (unittest.mock.ANY, "on"))

    def interrupt(self, code, ready):
        """Interrupts a cell once its output holds the text; returns the seconds it took to end and its reply."""
        waiting = self.client.execute(code), self.client.execute('%%\nfmt.Println("too far")')
        text = ""
        while ready not in text:
            text += self.client.get_iopub_msg(timeout=60)["content"].get("text", "")
        time.sleep(1)
        start = time.monotonic()
        self.manager.interrupt_kernel()
        reply = self.reply()
        self.assertEqual(reply["parent_header"]["msg_id"], waiting[0])
        self.assertEqual(reply["content"]["status"], "error")
        self.assertEqual(self.reply()["content"]["status"], "aborted")
        took = time.monotonic() - start
        self.assertEqual(self.execute('%%\nfmt.Print("alive")')[1][-5:], "alive")
        return took

    def test_interrupt(self):
        xla = """func long(x *graph.Node) *graph.Node {
	final, _ := autodiff.Scan(1<<40, func(_ *graph.Node, x, _ []*graph.Node) (next, _ []*graph.Node) {
		return []*graph.Node{graph.Sin(x[0])}, nil
	}, []*graph.Node{x}, nil)
	return final[0]
}
%%
fmt.Println("running")
nb.Must(engine.Run(long, 1.0))"""
        for name, code, limit in (
            ("loop", '%%\nfmt.Println("running")\nfor {\n}', 2),
            ("XLA", xla, 2),
            ("shell", "!echo running; sleep 1000", 2),
            ("signal ignored", '%%\nsignal.Ignore(os.Interrupt)\nfmt.Println("running")\nfor {\n}', 8),
        ):
            with self.subTest(name):
                self.assertLess(self.interrupt(code, "running"), limit)

    def displayed(self, code, stop=None):
        """Runs a cell and interrupts it when stop accepts a line; returns its reply, what it shows, and the lines that do not stay, with the seconds."""
        shown, lines, start = [], [], time.monotonic()

        def hook(message):
            content = message["content"]
            if passing(message):
                lines.append((re.sub("</?code>", "", content["data"]["text/html"]), time.monotonic() - start))
                if stop and stop(lines[-1][0]):
                    self.manager.interrupt_kernel()
            else:
                shown.append(content.get("data", {}).get("text/plain", ""))

        reply = self.client.execute_interactive(code, timeout=100, output_hook=hook)
        return reply["content"], "".join(shown), lines

    def test_long_work_says_what_it_does(self):
        self.assertEqual(self.displayed("1 + 2")[1], "3")
        self.execute("""all := morpho.MouseVertebrae()
A := nb.Must(morpho.Procrustes(all.Shapes()))
V := landmarks.New(60, 2, kernels.Gaussian(2*morpho.MeanSpacing(A.Mean, true)))""")
        # Without mismatch this takes minutes. An interrupt leaves the best that it had, which lives on.
        reply, shown, lines = self.displayed("m := nb.Must(stats.FrechetMean(V, A.Shapes))\nm", lambda line: re.search(r"\d s › Log of 76 pairs: iteration \d+, residual \S+ \(tolerance \S+\)", line))
        self.assertEqual(reply["status"], "error")
        self.assertIn("cancelled after 0 iterations", shown)
        self.assertLess(lines[0][1], 2, lines[0])
        self.assertRegex("".join(line for line, _ in lines), r"Fréchet mean, \d s")
        self.assertEqual(lines[-1][0], "")
        self.assertEqual(self.execute("m.Status")[1], "cancelled")
        # A bar, with the time that is left.
        _, _, lines = self.displayed("""model := nb.Must(shapestats.Fit(all, linear.Factor("group")))
nb.Must(model.ANOVA(linear.Permutations{N: 3000000, Seed: 1}))""", lambda line: "█" in line and "left" in line)
        self.assertTrue(any(re.search(r"█+░+ \d+ of 3000000(, \d s)?, about \d+ (s|min) left", line) for line, _ in lines), lines)
        # A loop that calls nothing but what an interrupt ends is ended by the second one.
        loop = "for {\n\tnb.Must(stats.FrechetMean(V, A.Shapes, stats.MaxIterations(1)))\n}"
        self.assertEqual(self.displayed(loop, lambda line: "iteration" in line)[0]["status"], "error")

    def test_shutdown_leaves_nothing(self):
        self.client.execute('%%\nsignal.Ignore(os.Interrupt)\nfmt.Println(os.Getpid())\nfor {\n}')
        text = ""
        while not text.strip():
            text = self.client.get_iopub_msg(timeout=60)["content"].get("text", "")
        self.client.stop_channels()
        self.manager.shutdown_kernel()
        self.assertEqual(os.listdir(self.folder.name), [])
        with self.assertRaises(ProcessLookupError):
            for _ in range(20):
                os.kill(int(text), 0)
                time.sleep(0.1)

    def gopls(self):
        """The processes of gopls that serve kernels in the temporary folder, and what they have started."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"{self.folder.name}/".encode() in (process / "environ").read_bytes() and (process / "comm").read_text() != "gonb\n":
                    found.append(int(process.name))
        return found

    def test_gopls_ends_with_its_kernel(self):
        def ends(name, how):
            with self.subTest(name):
                for _ in range(100):
                    if gopls := self.gopls():
                        break
                    time.sleep(0.1)
                self.assertTrue(gopls)
                how(gopls)
                for _ in range(200):
                    if not self.gopls():
                        break
                    time.sleep(0.1)
                left = self.gopls()
                for pid in left:
                    os.kill(pid, signal.SIGKILL)
                self.assertEqual(left, [])

        def hang(gopls):  # as one that reads packages on a busy machine
            for pid in gopls:
                with contextlib.suppress(OSError):
                    if b"-listen" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                        os.kill(pid, signal.SIGSTOP)
            self.client.complete("fmt.")
            time.sleep(1)
            self.client.stop_channels()
            self.manager.shutdown_kernel()
            self.assertEqual(os.listdir(self.folder.name), [], "it had to be killed")

        ends("gopls hangs", hang)
        for name in "killed", "killed while it starts":
            manager = jupyter_client.KernelManager(kernel_name="anatomy")
            manager.start_kernel(cwd=str(ROOT / "notebooks"), env=dict(os.environ, TMPDIR=self.folder.name))
            if name == "killed":
                client = manager.blocking_client()
                client.start_channels()
                client.wait_for_ready(timeout=60)
                client.stop_channels()
            ends(name, lambda _: manager.shutdown_kernel(now=True))

    def test_values_live_on(self):
        for name, cells in SEQUENCES.items():
            for code, want in zip(cells[::2], cells[1::2]):
                with self.subTest(name, code=code):
                    reply, text = self.execute(code)
                    self.assertEqual(reply["status"], "error" if want and want.startswith("!") else "ok", reply)
                    if want and want.startswith("!"):
                        self.assertRegex(reply["evalue"], want[1:])
                    elif want is not None:
                        self.assertEqual(text, want)

    def test_values_of_an_interrupted_cell(self):
        self.interrupt('kept := map[string]int{"a": 1}\nfmt.Println("running")\nfor {\n}', "running")
        self.assertEqual(self.execute("kept")[1], "map[a:1]")

    def test_a_new_kernel_knows_nothing(self):
        self.execute("x := 1")
        self.tearDown()
        self.setUp()
        self.assertIn("undefined: x", self.fails("x")["evalue"])

    def test_a_value_of_a_gigabyte(self):
        self.execute("big := make([]float64, 1<<27)\nbig[5] = 5")
        self.assertEqual(self.execute("big[5]")[1], "5")
        files = list(pathlib.Path(self.folder.name).glob("gonb_*/values/*"))
        self.assertLess(sum(f.stat().st_size for f in files), 1.1e9)

    def test_completion_starts(self):
        first = self.client.complete("morpho.", reply=True, timeout=2)["content"]  # at once
        self.assertEqual(first["matches"], ["/* completion is starting */", "/* press Tab again in some seconds */"])
        self.assertLessEqual(ready(self.client), {*first["matches"], "Help is starting: press Shift-Tab again in some seconds."})
        # Answers are about the text as it is now.
        for code, has, no in ("viz.", "Outline", "Spacing"), ("morpho.", "CorpusCallosum", "Outline"), ("cc := morpho.CorpusCallosum()\ncc.", "Spacing", "CorpusCallosum"):
            matches = self.client.complete(code, reply=True, timeout=30)["content"]["matches"]
            self.assertIn(has, matches)
            self.assertNotIn(no, matches)

    def test_answers_while_a_cell_runs(self):
        ready(self.client)
        self.execute("var cc = morpho.CorpusCallosum()")
        cell = self.client.execute('fmt.Println("running")\nfor {\n}')
        self.until("running")
        for code, name in {"math.Sqr": "Sqrt", "cc.": "Spacing", "}": None}.items():
            matches = self.client.complete(code, reply=True, timeout=30)["content"]["matches"]
            self.assertTrue(name is None or name in matches, matches)
        self.assertTrue(self.client.inspect("math.Sqrt", cursor_pos=6, reply=True, timeout=30)["content"]["found"])
        self.assertEqual(self.status(), "busy")
        self.manager.interrupt_kernel()
        reply = self.reply()
        self.assertEqual((reply["parent_header"]["msg_id"], reply["content"]["status"]), (cell, "error"))
        self.assertEqual(self.execute("len(cc.Names()) > 0")[1], "true")

    def until(self, text):
        """Waits until the output of what runs holds a text."""
        while text not in self.client.get_iopub_msg(timeout=60)["content"].get("text", ""):
            pass

    def status(self):
        """What the kernel has said last that it is."""
        state = None
        with contextlib.suppress(queue.Empty):
            while True:
                state = self.client.get_iopub_msg(timeout=1)["content"].get("execution_state", state)
        return state

    def test_completes_after_a_dot_and_in_a_broken_cell(self):
        ready(self.client)
        self.execute("type shape struct{ Length, Area float64 }")
        for code, name in {"%%\nviz.": "Outline", "%%\nvar s shape\ns.": "Area", "%%\nM := landmarks.New(39, 2, kernels.": "Gaussian"}.items():
            with self.subTest(code):
                reply = self.client.complete(code, reply=True, timeout=30)["content"]
                self.assertIn(name, reply["matches"])
                self.assertEqual((reply["cursor_start"], reply["cursor_end"]), (len(code), len(code)))

    def test_completes_values_of_earlier_cells(self):
        ready(self.client)
        self.execute("var cc = morpho.CorpusCallosum()\nvar M = landmarks.New(39, 2, kernels.Gaussian(cc.Spacing()))")
        self.execute('q := cc.Shape("jhu_atlas")\nr := nb.Must(M.Log(q, q))\n_ = r')
        for code, name in {"M.": "Log", "%%\nM.Lo": "Log", "fmt.Println(M.": "Log", "cc.": "Shape", "s := nb.Must(M.Log(nil, nil)); s.": "Length",
                           "r.": "Length", "fmt.Println(r.": "Length"}.items():
            with self.subTest(code):
                closed = code + ")" * code.count("Println(")
                self.assertIn(name, self.client.complete(closed, cursor_pos=len(code), reply=True, timeout=30)["content"]["matches"])

    def test_letters_of_two_bytes(self):
        ready(self.client)
        code = 'σ := morpho.CorpusCallosum(); fmt.Println("é", σ.Spac)'
        at = code.index("Spac") + len("Spac")
        reply = self.client.complete(code, cursor_pos=at, reply=True, timeout=30)["content"]
        self.assertEqual((reply["matches"], reply["cursor_start"], reply["cursor_end"]), (["Spacing"], at - len("Spac"), at))
        reply = self.client.inspect('σ := "é"; fmt.Println(σ, math.Hypot(1, 2))', cursor_pos=32, reply=True, timeout=30)["content"]
        self.assertIn("func math.Hypot", reply["data"].get("text/markdown", ""))

    def test_inspects(self):
        ready(self.client)
        code = "%%\nM := landmarks.New(39, 2, kernels.Gaussian(1))\nM.Exp(nil, nil)"
        for at, words in {"landmarks.New": "func landmarks.New", "kernels.Gaussian": "exp(", "M.Exp": "Exp("}.items():
            with self.subTest(at):
                reply = self.client.inspect(code, cursor_pos=code.index(at) + len(at) - 1, reply=True, timeout=30)["content"]
                self.assertTrue(reply["found"])
                self.assertIn(words, reply["data"]["text/markdown"])
        # Among the arguments of a call it is about the function, and packages have their own names.
        self.execute("M := landmarks.New(39, 2, kernels.Gaussian(1))")
        for code, words in {"M.Log(": "Log(q [][]float64", 'morpho.Read("my.csv")': "func morpho.Read", "math.Hypot(1, ": "func math.Hypot"}.items():
            with self.subTest(code):
                reply = self.client.inspect(code, cursor_pos=len(code) - code.endswith(")"), reply=True, timeout=30)["content"]
                self.assertIn(words, reply["data"].get("text/markdown", ""))
                self.assertNotIn("nb_", reply["data"]["text/markdown"])
        self.assertIn("*landmarks.Space", self.client.inspect("M", cursor_pos=1, reply=True, timeout=30)["content"]["data"]["text/markdown"])
        for code, at in {"unknown": 3, "// a word": 5, "x = = 1": 3}.items():
            with self.subTest(code):
                reply = self.client.inspect(code, cursor_pos=at, reply=True, timeout=30)["content"]
                self.assertEqual((reply["status"], reply["found"], reply["data"]), ("ok", False, {}))

    def test_help_is_of_this_project(self):
        texts = []
        self.client.execute_interactive("%help", timeout=60, output_hook=lambda m: texts.append(m["content"].get("data", {}).get("text/markdown", "")))
        self.assertIn("morpho.Read", "".join(texts))


if __name__ == "__main__":
    unittest.main()
