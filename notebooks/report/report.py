"""Reports of executed notebooks: HTML with everything inside, PDF on A4, and an index of them; pandoc, math-core, typst."""
import base64
import copy
import hashlib
import html
import json
import mimetypes
import pathlib
import re
import subprocess
import tempfile
import urllib.parse

import math_core
import nbformat
import pypandoc
import typst

import mathfont

HERE = pathlib.Path(__file__).resolve().parent
PANDOC = pathlib.Path(pypandoc.__file__).resolve().parent / "files" / "pandoc"  # which pypandoc itself would look for on the PATH, too
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


SHOWN = re.compile(r"""!\[[^]]*]\(\s*(?:<([^<>\n]+)>|([^\s)]+))|<img\b[^>]*?\bsrc\s*=\s*["']([^"']+)""")  # pictures of Markdown and of HTML


def attach(notebook, folder):
    """Attaches to the prose of a notebook the picture files that it shows by their names relative to the folder."""
    for cell in notebook["cells"]:
        if cell["cell_type"] != "markdown":
            continue
        for match in SHOWN.finditer(text(cell["source"])):
            name = urllib.parse.unquote(next(filter(None, match.groups())))
            path, (mime, _) = folder / name, mimetypes.guess_type(name)
            if not pathlib.PurePath(name).is_absolute() and (mime or "").startswith("image/") and path.is_file():
                cell.setdefault("attachments", {})[name] = {mime: base64.b64encode(path.read_bytes()).decode()}


def pandoc(source, *args):
    done = subprocess.run([PANDOC, "--wrap=none", "--sandbox", *args], input=source, capture_output=True, text=True, encoding="utf-8")
    if done.returncode:
        message = re.sub(r"\[WARNING\] Could not fetch resource (.*)\n.*", r"the picture \1 is neither attached to the notebook nor a picture file beside it: drag it into the cell, or let a cell show it", done.stderr)
        # Of an error in report.lua its own words.
        raise ReportError(re.sub(r"(?s)^Error running filter .*?\n\S+?\.lua:\d+: (.*?)\nstack traceback:.*", r"\1", message).strip())
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


def panels(data, metadata, alt):
    """A picture of several panels as HTML. The script of the template puts them below each other on a small screen: the boxes of
    panels and legend are left, top, width and height, in shares of the picture."""
    [(mime, content)] = data.items()
    if not mime.startswith("image/"):
        return data
    content = text(content).replace("\n", "") if mime != "image/svg+xml" else base64.b64encode(text(content).encode()).decode()
    boxes = {name: json.dumps([round(x, 5) for x in metadata.get(name) or []]) for name in ("panels", "legend")}
    size = metadata["image/png"]
    return {"text/html": f'<div class="panels on-white" data-panels="{boxes["panels"]}" data-legend="{boxes["legend"]}" data-ratio="{size["width"] / size["height"]:.4f}">'
                         f'<img alt="{html.escape(alt)}" width="{shown(metadata)}" src="data:{mime};base64,{content}"></div>'}


def shown(metadata):
    """The width in pixels in which a page shows a picture: one that fills two columns of a journal, 17 cm, fills that of the text."""
    return round(1.18 * metadata["image/png"]["width"])


def prepare(notebook, target, meta):
    """The notebook as it is to be read: without the lines %% of the kernel, without terminal colours, and with one
    representation of each output; meta is what the templates and the filter are told."""
    nb = copy.deepcopy(notebook)
    nb["nbformat_minor"] = 5  # before, cells had no ids
    cells, alts, widths, pictures = [], {}, {}, {}
    for number, cell in enumerate(nb["cells"]):
        cell.setdefault("id", f"cell-{number}")
        # pandoc would have names of its own for them
        pictures[cell["id"]] = {name: f"data:{mime};base64,{text(data)}" for name, bundle in cell.pop("attachments", {}).items() for mime, data in bundle.items()}
        if cell["cell_type"] == "code":
            cell["source"] = re.sub(r"\n*^[ \t]*%%[ \t]*$\n*", "\n\n", text(cell["source"]), flags=re.M).strip("\n")
            outputs = []
            for out in cell["outputs"]:
                if out["output_type"] == "stream":
                    out["text"] = ANSI.sub("", text(out["text"]))
                    if outputs and outputs[-1].get("name") == out["name"]:
                        outputs[-1]["text"] += out["text"]
                        continue
                elif out["output_type"] == "error":
                    out["traceback"] = [ANSI.sub("", line) for line in out["traceback"]]
                elif "data" in out:
                    # What a picture shows, in words, comes beside it.
                    number, metadata = str(len(outputs) + 1), out.get("metadata", {})
                    alt = alts.setdefault(cell["id"], {})[number] = text(out["data"].get("text/plain", ""))
                    out["data"] = best(out["data"], target)
                    if target == "html5" and metadata.get("image/png"):
                        widths.setdefault(cell["id"], {})[number] = f"{shown(metadata)}px"
                        if metadata.get("panels"):
                            out["data"] = panels(out["data"], metadata, alt)
                outputs.append(out)
            cell["outputs"] = outputs
            if not cell["source"].strip() and not cell["outputs"]:
                continue
        cells.append(cell)
    nb["cells"] = cells
    nb["metadata"] = {"kernelspec": {"name": "anatomy", "display_name": "Anatomy (Go)", "language": "go"}, "anatomy": dict(meta, alts=alts, widths=widths, pictures=pictures)}
    return json.dumps(nb)


def convert(notebook, target, name, about, *args):
    """about: date, provenance as (name, value) pairs, authors (a list), data (a name, or None for the standard ones), in their
    order the reports of the book that this one belongs to, as (name, title) pairs, and names (see linked)."""
    names = [n for n, _ in about["book"]]
    at = names.index(name) if name in names else None
    book = [{"name": n, "title": title} for n, title in about["book"]]
    meta = {"name": name, "pagetitle": name, "date": about["date"], "book": book,
            "provenance": [{"name": n, "value": v} for n, v in about["provenance"]]}
    if about["authors"]:
        meta["author"] = about["authors"]  # an empty list is "true" to pandoc
    if about["data"]:
        meta["data"] = about["data"]
    if at:
        meta["previous"] = book[at - 1]
    if at is not None and at + 1 < len(book):
        meta["next"] = book[at + 1]
    return pandoc(prepare(notebook, target, meta), "--from=ipynb+raw_tex", "--ipynb-output=all", f"--to={target}", "--standalone",
                  f"--template={HERE}/template.{target}", f"--lua-filter={HERE}/report.lua", "--fail-if-warnings", "--toc",
                  "--toc-depth=3", "--syntax-highlighting=pygments", *args)


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
        out = re.sub(r'<mover accent="true">(<mi>.</mi><mo(?: stretchy="false")?>)', r"<mover>\1", out)
        # The indices of such a letter stand as high as those of one without.
        out = re.sub(r"<(msup|msub|msubsup)>(<mover><mi>.</mi><mo[^>]*>.</mo></mover>)((?:<m[in]>[^<]*</m[in]>)+)</\1>",
                     r"<mrow>\2<\1><mrow></mrow>\3</\1></mrow>", out)
        # The box in which a formula wider than the page scrolls: <math> itself does not in every browser.
        if m.group(1) == "displaymath":
            return f'<span class="formula">{out}</span>'
        return f'<span class="long">{out}</span>' if len(re.sub(r"<[^>]*>", "", out)) > 30 else out

    # A full stop stays with its formula, and so does an opening bracket.
    page = re.sub(r"""\(?<eq\s+env="math">[^<]*</eq>[-.,;:!?)\]’”]*""",
                  lambda m: m[0] if m[0].startswith("<") and m[0].endswith(">") else f'<span class="nobr">{m[0]}</span>', page)
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


def linked(page, names):
    """The page with what it says of the packages of this project linked to their documentation: names are places there, with
    the declarations that the links show."""
    def link(name, shown):
        return f'<a class="api" href="packages.html#{name}" title="{html.escape(names[name])}">{shown}</a>' if name in names else shown

    page = re.sub(r"<code>([a-z]\w*(?:\.[A-Z]\w*)*)</code>(?!</a>)", lambda m: link(m[1], m[0]), page)
    return re.sub(r'\b([a-z]\w*)<span class="op">\.</span>([A-Z]\w*)', lambda m: link(f"{m[1]}.{m[2]}", m[0]), page)


def write_html(notebook, name, about, path):
    page = convert(notebook, "html5", name, about, "--gladtex", "--embed-resources")
    path.write_text(finished(linked(mathml(page), about["names"]), written(notebook)), encoding="utf-8")


def typeset(body):
    """The typst that pandoc writes, with what it does not know of formulas. report.lua marks them: texts and strings look like them."""
    def formula(m):
        source = re.sub(r'"([^"$\n.,:/]+)"(?=_\()', r'op("\1", limits: #true)', m[1])  # \operatorname*
        source = re.sub(r'(?<=[ $(])"([A-Za-z]+)" (?=\(|\\\()', r'op("\1") ', source)  # \operatorname
        # \bigl and the like: scaled text would stand apart, and would not be a bracket.
        return re.sub(r"#scale\(x: (\d+)%, y: \1%\)\[(\\?.)\]", lambda m: f"lr(size: #{int(m[1]) / 100}em, {m[2]})", source)

    return re.sub("\ue000(.*?)\ue001", formula, body, flags=re.S)


def write_pdf(notebook, name, about, seconds, path):
    """seconds is the time of creation that the document carries, counted from 1970."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "report.typ")
        body = convert(notebook, "typst", name, about, f"--extract-media={folder}/media")
        body = typeset(body.replace(folder + "/", ""))
        source.write_text(body, encoding="utf-8")
        try:
            floats, lacking = [], [None]
            while lacking:  # the first figure without room goes on, and all behind it are looked at again
                inputs = {"floats": json.dumps(floats)}
                room = json.loads(typst.query(str(source), "<room>", field="value", root=folder, sys_inputs=inputs))
                lacking = [number for number, fits in room if not fits and number not in floats]
                floats += lacking[:1]
            typst.compile(str(source), output=str(path), root=folder, timestamp=seconds, sys_inputs=inputs)
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
    return f'<img src="data:image/png;base64,{base64.b64encode(small).decode()}" class="on-white" width="176" alt="">'


def summary(notebook):
    """The first sentence of the prose and a picture, as HTML: the first one, or that of the cell with the tag "cover"."""
    sentence = ""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and not sentence:
            for block in re.split(r"\n\s*\n", text(cell["source"]).strip()):
                prose = "\n".join(line for line in block.splitlines() if not line.startswith("#")).strip()
                if prose and not re.fullmatch(r"[*_][^*_].*[*_]", prose, flags=re.S):
                    prose = prose.split("$$")[0].strip()
                    sentence = re.sub(r":$", ".", re.split(r"(?<=[.!?])\s", prose, maxsplit=1)[0])
                    break
    pictures = [(("cover" not in cell["metadata"].get("tags", [])), data, suffix) for cell in notebook["cells"] for out in cell.get("outputs", [])
                for mime, suffix in [("image/png", "png"), ("image/svg+xml", "svg")] for data in [out.get("data", {}).get(mime)] if data]
    picture = ""
    if pictures:
        _, data, suffix = min(pictures, key=lambda p: p[0])
        picture = thumbnail(base64.b64decode(text(data)) if suffix == "png" else text(data).encode(), suffix)
    return mathml(pandoc(sentence, "--from=commonmark_x", "--to=html5", "--gladtex")), picture


def title(notebook, name):
    """The first heading of the first level, as Markdown; the name if there is none."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            m = re.search(r"^#\s+(.+?)\s*#*$", text(cell["source"]), flags=re.M)
            if m:
                return m.group(1)
    return name


def write_checks(entries, about, path):
    """A page with all that the notebooks have checked. entries: (name, executed notebook); about as of convert."""
    cells, count = [], 0
    for name, notebook in entries:
        said = []
        for check in (c for cell in notebook["cells"] for c in cell["metadata"].get("checks", [])):
            values = f": got {check['got']} (want {check['want']} ± {check['tol']})" if "got" in check else ""
            said.append(nbformat.v4.new_output("display_data", {"text/markdown": f"{'✓' if check['ok'] else '✗'} {check['what']}{values}"}))
        count += len(said)
        cells += [nbformat.v4.new_markdown_cell(f"## [{title(notebook, name)}]({name}.ipynb)"), nbformat.v4.new_code_cell(outputs=said)]
    head = nbformat.v4.new_markdown_cell(f"# All checks\n\n*{count} claims, each checked whenever the reports are made*")
    write_html(nbformat.v4.new_notebook(cells=[head, *cells]), "checks", about, path)


def shell(name, head, body):
    """A page that is not made of a notebook."""
    return finished(f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}</title>
</head>
<body>
{head}
<main>
{body}
</main>
</body>
</html>
""")


def write_packages(page, path):
    """The documentation of the packages, to which the reports link."""
    contents = "".join(f'<li><a href="#{name}">{name}</a></li>' for name in re.findall(r'<h2 id="([^"]*)"', page))
    path.write_text(shell("Packages", f"""<nav class="pages"><a href="index.html">All reports</a></nav>
<header><h1>Packages</h1></header>
<nav id="TOC" aria-label="Contents"><ul>{contents}</ul></nav>""", page), encoding="utf-8")


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
    path.write_text(shell("Computational anatomy: reports", f"""<header>
<h1>Computational anatomy: reports</h1>
<p class="made">{html.escape(provenance)}</p>
</header>""", f"""<ol class="reports">
{chr(10).join(items)}
</ol>
<p>Beside them: <a href="checks.html">all checks</a>, and the <a href="packages.html">packages</a>.</p>"""), encoding="utf-8")
