"""The tests of the project and what they claim: the first paragraphs of their comments, as they stand in the sources.

    evidence.py     counts the tests, and those without a comment
"""
import ast
import html
import pathlib
import re

import report

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A test in Go, and the comment above it.
GO = re.compile(r"((?:^//.*\n)*)^func ((?:Test|Fuzz)[A-Z]\w*)\(\w+ \*testing\.[TF]\)", flags=re.M)


def words(name):
    """The name of a test as words: TestLogClosesOnCallosa is "Log closes on callosa"."""
    parts = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", re.sub(r"^(Test|Fuzz|test)_?", "", name))
    return " ".join(p if i == 0 or p.isupper() and len(p) > 1 else p.lower() for i, p in enumerate(parts))


def claim(comment, name):
    """The first paragraph of a comment, without the name of the test that it may begin with; without a comment the words of the name."""
    paragraph = re.sub(rf"^{name}\b:?\s*", "", " ".join(re.split(r"\n\s*\n", comment.strip())[0].split())) or words(name)
    return paragraph[:1].upper() + paragraph[1:]


def tests(root=ROOT):
    """(claim, folder, name, whether it has a comment) of each test, by folders."""
    found = []
    paths = [p for kind in ("*_test.go", "test_*.py") for p in root.rglob(kind)]
    for path in sorted(p for p in paths if not any(part.startswith(".") or part == "testdata" for part in p.relative_to(root).parts)):
        source, folder = path.read_text(encoding="utf-8"), path.parent.relative_to(root).as_posix()
        if path.suffix == ".go":
            said = [(re.sub(r"^//(\S+:.*)?[ \t]?", "", comment, flags=re.M), name) for comment, name in GO.findall(source) if name != "TestMain"]
        else:
            said = [(ast.get_docstring(f) or "", f.name) for f in ast.walk(ast.parse(source)) if isinstance(f, ast.FunctionDef) and f.name.startswith("test")]
        found += [(claim(comment, name), folder, name, bool(comment.strip())) for comment, name in said]
    return found


FILTER = """
const field = document.getElementById("filter"), rows = [...document.querySelectorAll("tbody tr")];
field.oninput = () => {
  const words = field.value.toLowerCase().split(/\\s+/);
  rows.forEach(r => r.hidden = !words.every(w => r.textContent.toLowerCase().includes(w)));
};
"""


def write(path):
    """The page of all tests, with a field that finds words of them."""
    found = tests()
    rows = "\n".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in (html.escape(says), f"<code>{folder}</code>", f"<code>{name}</code>")) + "</tr>"
                     for says, folder, name, _ in found)
    path.write_text(report.shell("Tests", """<nav class="pages"><a href="index.html">All reports</a></nav>
<header><h1>Tests</h1></header>""", f"""<p>{len(found)} tests, and what they claim. After <code>make setup</code>, <code>go test -run NAME ./FOLDER</code> repeats one in Go.
For {sum(not t[3] for t in found)} tests the claim is their name.</p>
<p><input type="search" id="filter" placeholder="Show the tests with these words" aria-label="Show the tests with these words"></p>
<table>
<thead><tr><th>claim</th><th>folder</th><th>test</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>""", f"<script>{FILTER}</script>"), encoding="utf-8")


if __name__ == "__main__":
    counted = tests()
    print(f"{len(counted)} tests, {sum(not t[3] for t in counted)} without a comment")
