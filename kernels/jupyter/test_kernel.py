"""Conformance of the kernel: jupyter-kernel-test for what it claims, and what the protocol's tests do not look at."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import jupyter_kernel_test
from jupyter_client.manager import start_new_kernel

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHOW = '%%\nviz.Show(viz.Outline(landmarks.CorpusCallosum().Shape("jhu_atlas")))'


def start(**env):
    """Starts a kernel in the folder of the notebooks, with a temporary folder of its own."""
    folder = tempfile.TemporaryDirectory()
    manager, client = start_new_kernel(kernel_name="anatomy", cwd=str(ROOT / "notebooks"), env=dict(os.environ, TMPDIR=folder.name, **env))
    return manager, client, folder


class Protocol(jupyter_kernel_test.KernelTests):
    """Not claimed, so skipped: values of expressions as results, a pager, clear_output, history."""
    kernel_name = "anatomy"
    language_name = "go"
    file_extension = ".go"
    code_hello_world = '%%\nfmt.Println("hello, world")'
    code_stderr = '%%\nfmt.Fprintln(os.Stderr, "hello")'
    completion_samples = [
        {"text": "%%\nlandmarks.CorpusC", "matches": {"CorpusCallosum", "CorpusCallosumOutline"}},
        {"text": "%%\ncc := landmarks.CorpusCallosum()\ncc.Spac", "matches": {"Spacing"}},
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
    code_inspect_sample = "%%\nlandmarks.Procrustes"

    @classmethod
    def setUpClass(cls):
        cls.km, cls.kc, cls.folder = start()

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
        """Runs a cell; returns its reply and the text that it wrote."""
        text = []
        reply = self.client.execute_interactive(code, timeout=timeout, output_hook=lambda m: text.append(m["content"].get("text", "")))
        return reply["content"], "".join(text)

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
        replies = [self.client.get_shell_msg(timeout=60)["content"]["status"] for _ in range(3)]
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
        reply = self.client.get_shell_msg(timeout=60)
        self.assertEqual(reply["parent_header"]["msg_id"], waiting[0])
        self.assertEqual(reply["content"]["status"], "error")
        self.assertEqual(self.client.get_shell_msg(timeout=60)["content"]["status"], "aborted")
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

    def test_values_are_kept(self):
        self.execute('var slow = nb.Keep("slow", func() (int64, error) { return time.Now().UnixNano(), nil })')
        first = self.execute("%%\nfmt.Print(slow)")[1]
        self.assertRegex(first, r"^\d+$")
        self.assertEqual(self.execute("%%\nfmt.Print(slow)")[1], first)

    def test_completes_after_a_dot_and_in_a_broken_cell(self):
        self.execute("type shape struct{ Length, Area float64 }")
        for code, name in {"%%\nviz.": "Outline", "%%\nvar s shape\ns.": "Area", "%%\nM := landmarks.New(39, 2, kernels.": "Gaussian"}.items():
            with self.subTest(code):
                reply = self.client.complete(code, reply=True, timeout=30)["content"]
                self.assertIn(name, reply["matches"])
                self.assertEqual((reply["cursor_start"], reply["cursor_end"]), (len(code), len(code)))

    def test_inspects(self):
        code = "%%\nM := landmarks.New(39, 2, kernels.Gaussian(1))\nM.Exp(nil, nil)"
        for at, words in {"landmarks.New": "func landmarks.New", "kernels.Gaussian": "exp(", "M.Exp": "Exp("}.items():
            with self.subTest(at):
                reply = self.client.inspect(code, cursor_pos=code.index(at) + len(at) - 1, reply=True, timeout=30)["content"]
                self.assertTrue(reply["found"])
                self.assertIn(words, reply["data"]["text/markdown"])


if __name__ == "__main__":
    unittest.main()
