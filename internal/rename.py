"""Gives the Go module another path, such as one with the host of a repository: `make rename MODULE=example.org/name/anatomy`.

    rename.py MODULE

It rewrites go.mod, imports in Go files, notebooks, pages and patches, and the commands of pages. A wrong step is undone by git: commit first.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
ENDINGS = {".go", ".ipynb", ".md", ".mod", ".patch", ".py", ".sh", ".yaml", ""}


def rewritten(text, old, new, folders):
    """The text with paths of packages in the module new. Before a path no letter, slash, dot or hyphen stands, so /home/me/anatomy/geom is none;
    it goes on with a folder of the module."""
    name = re.escape(old)
    text = re.sub(rf"(?<![\w./@-]){name}(?=/(?:{'|'.join(folders)})\b)", new, text)
    text = re.sub(rf"(?<=module ){name}(?=$|\\n|\$')", new, text, flags=re.MULTILINE)
    text = re.sub(rf'^((?:import |\t)"){name}"$', rf'\g<1>{new}"', text, flags=re.MULTILINE)
    text = re.sub(rf'(?<=-replace ){name}(?==)|(?<="){name}(?=[/=]")', new, text)
    # import paths in notebooks stand in strings of JSON
    return re.sub(rf'(\\"){name}(\\")(?=\\n",?$)', rf"\g<1>{new}\g<2>", text, flags=re.MULTILINE)


def committed(root):
    return subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, stdout=subprocess.PIPE).stdout.decode().split("\0")[:-1]


def rename(root, new, files):
    old = re.search(r"^module (\S+)$", (root / "go.mod").read_text(), re.MULTILINE)[1]
    if not re.fullmatch(r"[a-z0-9.-]+(/[A-Za-z0-9._~-]+)*", new) or new.rsplit("/", 1)[-1] != "anatomy":
        sys.exit(f"rename: {new!r} is no path of a module that ends with anatomy, as its package is called: say MODULE=example.org/name/anatomy")
    folders = sorted({name.split("/")[0] for name in files if name.endswith(".go") and "/" in name})
    changed = []
    for name in files:
        path = root / name
        if path.suffix not in ENDINGS or path.is_symlink() or name in ("internal/rename.py", "internal/test_rename.py"):
            continue
        before = path.read_bytes()
        try:
            after = rewritten(before.decode(), old, new, folders).encode()
        except UnicodeDecodeError:
            continue
        if after != before:
            path.write_bytes(after)
            changed.append(name)
            if path.suffix == ".ipynb":
                json.loads(after)
    go = [name for name in changed if name.endswith(".go")]
    subprocess.run(["gofmt", "-w", *go], cwd=root, check=True)  # imports have an order
    print(f"{old} is {new} in {len(changed)} files")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    rename(ROOT, sys.argv[1], committed(ROOT))
