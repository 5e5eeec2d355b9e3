"""Reports of executed notebooks: HTML with everything inside, PDF on A4, and an index of them; pandoc, math-core, typst."""
import base64
import copy
import hashlib
import html
import json
import pathlib
import re
import subprocess
import tempfile

import math_core
import pypandoc
import typst

import mathfont

HERE = pathlib.Path(__file__).resolve().parent
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# Bytes; beyond, the PNG beside a drawing is shown if it is smaller: it is faster to draw, too.
LARGE_SVG = {"html5": 150_000, "typst": 1_000_000}
PREFER = {
    "html5": ["text/html", "image/svg+xml", "image/png", "image/gif", "image/jpeg", "text/latex", "text/markdown", "text/plain"],
    "typst": ["image/svg+xml", "image/png", "image/gif", "image/jpeg", "text/latex", "text/markdown", "text/html", "text/plain"],
}


class ReportError(Exception):
    pass


def text(value):
    return value if isinstance(value, str) else "".join(value)


def pandoc(source, *args):
    done = subprocess.run([pypandoc.get_pandoc_path(), "--wrap=none", "--sandbox", *args], input=source, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        raise ReportError(re.sub(r"\[WARNING\] Could not fetch resource (.*)", r"the picture \1 does not come from the notebook: let a cell show it", done.stderr.strip()))
    return done.stdout


def best(data, target):
    """The one representation of an output that the target shows best."""
    drawing, pixels = text(data.get("image/svg+xml", "")), text(data.get("image/png", ""))
    if pixels and len(drawing) > max(LARGE_SVG[target], len(pixels)):
        data = {k: v for k, v in data.items() if k != "image/svg+xml"}
    for mime in PREFER[target]:
        if mime in data:
            return {mime: data[mime]}
    return {}


def prepare(notebook, target):
    """The notebook as it is to be read: without the lines %% of the kernel, without terminal colours, and with one
    representation of each output."""
    nb = copy.deepcopy(notebook)
    cells = []
    for cell in nb["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = re.sub(r"\n*^[ \t]*%%[ \t]*$\n*", "\n\n", text(cell["source"]), flags=re.M).strip("\n")
            outputs = []
            for out in cell["outputs"]:
                if out["output_type"] == "stream":
                    out["text"] = ANSI.sub("", text(out["text"]))
                    if outputs and outputs[-1].get("name") == out["name"]:
                        outputs[-1]["text"] += out["text"]
                        continue
                elif "data" in out:
                    out["data"] = best(out["data"], target)
                outputs.append(out)
            cell["outputs"] = outputs
            if not cell["source"].strip() and not cell["outputs"]:
                continue
        cells.append(cell)
    nb["cells"] = cells
    nb["metadata"] = {"kernelspec": {"name": "anatomy", "display_name": "Anatomy (Go)", "language": "go"}}
    return json.dumps(nb)


def plain(value):
    """Markdown that shows the value as it is."""
    return re.sub(r"([^\w\s])", r"\\\1", value)


def ending(provenance):
    """The last section, of (name, value) pairs."""
    rows = "".join(f"| {plain(name)} | {plain(value)} |\n" for name, value in provenance)
    return {"cell_type": "markdown", "metadata": {}, "source": f"## Provenance\n\n| | |\n|:-|:-----|\n{rows}"}


def convert(notebook, target, name, about, *args):
    """about: date, provenance as (name, value) pairs, authors (a list) and data (a name, or None for the standard ones)."""
    nb = dict(notebook, cells=[*notebook["cells"], ending(about["provenance"])])
    meta = {"title": name, "date": about["date"], "data": about["data"]}
    given = [f"--metadata={key}:{value}" for key, value in meta.items() if value]
    given += [f"--metadata=author:{author}" for author in about["authors"]]
    return pandoc(prepare(nb, target), "--from=ipynb+raw_tex", "--ipynb-output=all", f"--to={target}", "--standalone",
                  f"--template={HERE}/template.{target}", f"--lua-filter={HERE}/report.lua", "--fail-if-warnings", "--toc",
                  "--toc-depth=3", *given, *args)


def mathml(page):
    """MathML for the TeX formulas that pandoc left in <eq> elements."""
    tex = math_core.LatexToMathML()

    def formula(m):
        source = html.unescape(m.group(2))
        try:
            out = tex.convert_with_local_state(source, displaystyle=m.group(1) == "displaymath")
        except math_core.LatexError as e:
            raise ReportError(f"formula {source}\n{ANSI.sub('', str(e))}")
        # An accent over a letter is drawn at the right height only as a plain over-script.
        return re.sub(r'<mover accent="true">(<mi>.</mi><mo(?: stretchy="false")?>)', r"<mover>\1", out)

    return re.sub(r'<eq\s+env="(\w+)">(.*?)</eq>', formula, page, flags=re.S)


def finished(page, scripts=""):
    """The page with its style sheet and fonts, and with the order to the browser to fetch nothing and to run no script but
    its own: those that stand in the template and, word for word, in the text given."""
    css = (HERE / "report.css").read_text() + mathfont.css(page)
    known = (HERE / "template.html5").read_text() + scripts
    sums = []
    for script in re.findall(r"<script\b[^>]*>(.*?)</script>", page, flags=re.S | re.I):
        if script not in known:
            raise ReportError(f"a script that no cell shows as HTML: {script.strip()[:200]}")
        sums.append(f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'")
    policy = "default-src 'none'; img-src data:; font-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; " \
             "script-src " + " ".join(sums or ["'none'"])
    head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n<style>\n{css}</style>\n'
    return page.replace('<meta charset="utf-8">\n', '<meta charset="utf-8">\n' + head, 1)


def written(notebook):
    """What the authors of a notebook wrote as HTML: in its prose, and as such an output of its cells."""
    return "\n".join([text(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown"] + [
        text(out["data"]["text/html"]) for cell in notebook["cells"] for out in cell.get("outputs", []) if "text/html" in out.get("data", {})])


def write_html(notebook, name, about, path):
    page = convert(notebook, "html5", name, about, "--gladtex", "--embed-resources")
    path.write_text(finished(mathml(page), written(notebook)), encoding="utf-8")


def write_pdf(notebook, name, about, seconds, path):
    """seconds is the time of creation that the document carries, counted from 1970."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "report.typ")
        body = convert(notebook, "typst", name, about, f"--extract-media={folder}/media", "--syntax-highlighting=idiomatic")
        body = body.replace(folder + "/", "")
        body = re.sub(r'"([^"$\n.,:/]+)"(?=_\()', r'op("\1", limits: #true)', body)  # \operatorname*
        body = re.sub(r'(?<=[ $(])"([A-Za-z]+)" (?=\(|\\\()', r'op("\1") ', body)  # \operatorname
        source.write_text(body, encoding="utf-8")
        try:
            typst.compile(str(source), output=str(path), root=folder, timestamp=seconds)
        except typst.TypstError as e:
            raise ReportError(f"typst: {e}")


def thumbnail(data, suffix):
    """A small copy of a picture, as HTML."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "picture." + suffix).write_bytes(data)
        source = pathlib.Path(folder, "picture.typ")
        source.write_text(f'#set page(width: 132pt, height: auto, margin: 0pt)\n#image("picture.{suffix}", width: 100%)')
        try:
            small = typst.compile(str(source), root=folder, format="png", ppi=144)
        except typst.TypstError as e:
            raise ReportError(f"typst: {e}")
    return f'<img src="data:image/png;base64,{base64.b64encode(small).decode()}" width="176" alt="">'


def summary(notebook):
    """The first sentence of the prose and the first picture, as HTML."""
    sentence = picture = ""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and not sentence:
            for block in re.split(r"\n\s*\n", text(cell["source"]).strip()):
                prose = "\n".join(line for line in block.splitlines() if not line.startswith("#")).strip()
                if prose and not re.fullmatch(r"[*_][^*_].*[*_]", prose, flags=re.S):
                    prose = prose.split("$$")[0].strip()
                    sentence = re.sub(r":$", ".", re.split(r"(?<=[.!?])\s", prose, maxsplit=1)[0])
                    break
        for out in cell.get("outputs", []):
            for mime, suffix in [("image/png", "png"), ("image/svg+xml", "svg")]:
                if mime in out.get("data", {}) and not picture:
                    data = text(out["data"][mime])
                    picture = thumbnail(base64.b64decode(data) if suffix == "png" else data.encode(), suffix)
    return mathml(pandoc(sentence, "--from=commonmark_x", "--to=html5", "--gladtex")), picture


def title(notebook, name):
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            m = re.search(r"^#\s+(.+?)\s*#*$", text(cell["source"]), flags=re.M)
            if m:
                return m.group(1)
    return name


def write_index(entries, provenance, path):
    """entries: (name, executed notebook) in the order of the index."""
    items = []
    for name, notebook in entries:
        sentence, picture = summary(notebook)
        # As a heading, so that the number in front does not make it a list.
        heading = mathml(pandoc("# " + title(notebook, name), "--from=commonmark_x", "--to=html5", "--gladtex"))
        heading = re.sub(r"\A<h1[^>]*>(.*)</h1>\s*\Z", r"\1", heading, flags=re.S)
        items.append(f'<li><a class="picture" href="{name}.html" tabindex="-1" aria-hidden="true">{picture}</a>\n'
                     f'<div><h2><a href="{name}.html">{heading}</a></h2>\n{sentence}<p class="files"><a href="{name}.html">HTML</a> '
                     f'<a href="{name}.pdf">PDF</a></p></div></li>')
    path.write_text(finished(f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Computational anatomy: reports</title>
</head>
<body>
<header>
<h1>Computational anatomy: reports</h1>
<p class="made">{html.escape(provenance)}</p>
</header>
<main>
<ol class="reports">
{chr(10).join(items)}
</ol>
</main>
</body>
</html>
"""), encoding="utf-8")
