"""Renames the module of a copy, in which every import must be found and the program must compile; the way back gives the same bytes.

    python internal/test_rename.py
"""
import contextlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import rename

NEW = "example.org/some-body/anatomy"


class TestRename(unittest.TestCase):
    def test_there_and_back(self):
        files = [f for f in rename.committed(rename.ROOT) if (rename.ROOT / f).is_file()]
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            root = pathlib.Path(folder)
            for name in files:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(rename.ROOT / name, root / name)
            rename.rename(root, NEW, files)
            for name in files:
                if name.endswith((".go", ".ipynb")):
                    self.assertEqual(re.findall(r'(?<=")anatomy/(?:geom|kernels|landmarks|notebooks|viz)', (root / name).read_text()), [], name)
            self.go(root, "list", "-deps", "-test", "./...")  # an error for each import that is not found
            self.go(root / "kernels" / "jupyter" / "tools", "list", "-deps", "-test", "./...")
            self.go(root, "build", "-o", os.devnull, "./landmarks/morpho/anatomy", "./notebooks/nb")
            rename.rename(root, "anatomy", files)
            for name in files:
                self.assertEqual((root / name).read_bytes(), (rename.ROOT / name).read_bytes(), name)

    def go(self, folder, *args):
        env = {**os.environ, "GOWORK": "off", "GOFLAGS": "-buildvcs=false"}
        done = subprocess.run(["go", *args], cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_is_no_path(self):
        for text in ("/home/me/anatomy/geom/log.go", "import anatomy", "the program anatomy", "my-anatomy/geom", "anatomy/notebook.md"):
            self.assertEqual(rename.rewritten(text, "anatomy", NEW, ["geom", "notebooks"]), text)
        for name in "example.org/Shapes", "/anatomy", "a b/anatomy", "":
            with self.assertRaises(SystemExit):
                rename.rename(rename.ROOT, name, [])


if __name__ == "__main__":
    unittest.main()
