"""Reports of executed notebooks: HTML with everything inside, PDF on A4, and an index of them; pandoc, math-core, typst."""
import base64
import copy
import hashlib
import html
import io
import json
import math
import mimetypes
import pathlib
import re
import struct
import subprocess
import tempfile
import urllib.parse
import zlib
from xml.parsers import expat

import math_core
import nbformat
import pypandoc
import typst
from PIL import Image

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


UNREADABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what no XML may hold, and so no drawing and no PDF


def readable(value):
    """A text, or what lists and dictionaries hold, with � in place of letters that XML has none of: of control characters, and of bytes of
    names that are no UTF-8."""
    if isinstance(value, str):
        return UNREADABLE.sub("\ufffd", value)
    if isinstance(value, dict):
        return type(value)((readable(name), readable(v)) for name, v in value.items())
    return type(value)(map(readable, value)) if isinstance(value, (list, tuple)) else value


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
    done = subprocess.run([PANDOC, "--wrap=none", "--sandbox", *args], input=readable(source), capture_output=True, text=True, encoding="utf-8")
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
            return {mime: text(data[mime])}
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
    return {"text/html": f'<div class="panels {ground(metadata)}" data-panels="{boxes["panels"]}" data-legend="{boxes["legend"]}" data-ratio="{size["width"] / size["height"]:.4f}" data-least="{least(metadata)}">'
                         f'<img alt="{html.escape(alt)}" width="{shown(metadata)}" src="data:{mime};base64,{content}"></div>'}


def ground(metadata):
    """The class of a picture: one whose colours stand for values stays on white paper where the page is dark."""
    return "on-paper" if metadata.get("paper") else "on-white"


def shown(metadata):
    """The width in pixels in which a page shows a picture: one that fills two columns of a journal, 17 cm, fills that of the text."""
    return round(1.18 * metadata["image/png"]["width"])


def least(metadata):
    """The width in pixels below which the smallest letters of a picture have fewer than 9."""
    return math.ceil(9 / (metadata.get("letters", 7.5) * 96 / 72) * metadata["image/png"]["width"])


def figures(notebook):
    """The pictures that cells show as drawings or pixels: {(number of the cell, number of the output): name}. One that has a caption, behind
    it or, the last of a cell, below this, is called after its number, figure-3, others picture-1."""
    def is_caption(markdown):
        return text(markdown).startswith("**Figure.**")

    names, captions, others, taken = {}, 0, 0, None
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] == "markdown":
            captions += len(re.findall(r"^\*\*Figure\.\*\*", text(cell["source"]), flags=re.M)) - (taken == number)
            continue
        outputs = cell.get("outputs", [])
        shown = [k for k, out in enumerate(outputs) if {"image/svg+xml", "image/png"} & out.get("data", {}).keys()]
        below = notebook["cells"][number + 1] if number + 1 < len(notebook["cells"]) else None
        for k in shown:
            behind = outputs[k + 1].get("data", {}).get("text/markdown", "") if k + 1 < len(outputs) else ""
            if is_caption(behind):
                captions += 1
            elif k == shown[-1] and below and below["cell_type"] == "markdown" and is_caption(below["source"]):
                captions, taken = captions + 1, number + 1
            else:
                others += 1
                names[number, k] = f"picture-{others}"
                continue
            names[number, k] = f"figure-{captions}"
    return names


def write_files(notebook, page, folder):
    """The figures of a notebook as SVG, PDF and PNG, and the tables of its page as CSV, in folders of their own."""
    notebook = readable(notebook)
    for (number, k), name in figures(notebook).items():
        data, file = notebook["cells"][number]["outputs"][k]["data"], folder / "figures" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if "image/png" in data:
            file.with_suffix(".png").write_bytes(base64.b64decode(text(data["image/png"])))
        if "image/svg+xml" in data:
            file.with_suffix(".svg").write_text(text(data["image/svg+xml"]), encoding="utf-8")
            file.with_suffix(".pdf").write_bytes(drawn(text(data["image/svg+xml"]).encode(), "svg", "pdf", timestamp=0))
    for name, content in re.findall(r'<a download="(table-\d+\.csv)" href="data:text/csv[^",]*,([^"]*)"', page):
        (folder / "tables").mkdir(parents=True, exist_ok=True)
        (folder / "tables" / name).write_bytes(urllib.parse.unquote_to_bytes(html.unescape(content)))


def drawn(data, suffix, target, source='#set page(width: auto, height: auto, margin: 0pt)\n#image("%s")', **options):
    """A picture in another format, by typst, whose source says how it stands on a page."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "picture." + suffix).write_bytes(data)
        file = pathlib.Path(folder, "picture.typ")
        file.write_text(source % f"picture.{suffix}")
        try:
            return typst.compile(str(file), root=folder, format=target, **options)
        except typst.TypstError as e:
            raise ReportError(f"typst: {e}")


def prepare(notebook, target, meta):
    """The notebook as it is to be read: without the lines %% of the kernel, without terminal colours, readable, and with one
    representation of each output; meta is what the templates and the filter are told."""
    nb = copy.deepcopy(notebook)
    nb["nbformat_minor"] = 5  # before, cells had no ids
    cells, told, pictures = [], {}, {}
    names = figures(notebook)
    for index, cell in enumerate(nb["cells"]):
        cell.setdefault("id", f"cell-{index}")
        # pandoc would have names of its own for them
        pictures[cell["id"]] = {name: f"data:{mime};base64,{text(data)}" for name, bundle in cell.pop("attachments", {}).items() for mime, data in bundle.items()}
        if cell["cell_type"] == "code":
            cell["source"] = re.sub(r"\n*^[ \t]*%%[ \t]*$\n*", "\n\n", text(cell["source"]), flags=re.M).strip("\n")
            outputs = []
            for k, out in enumerate(cell["outputs"]):
                if out["output_type"] == "stream":
                    out["text"] = ANSI.sub("", text(out["text"]))
                    if outputs and outputs[-1].get("name") == out["name"]:
                        outputs[-1]["text"] += out["text"]
                        continue
                elif out["output_type"] == "error":
                    out["traceback"] = [ANSI.sub("", line) for line in out["traceback"]]
                elif "data" in out:
                    # What a picture shows, in words, comes beside it.
                    metadata = out.get("metadata", {})
                    about = told.setdefault(cell["id"], {})[str(len(outputs) + 1)] = {"alt": text(out["data"].get("text/plain", ""))}
                    if (place := (index, k)) in names:
                        kinds = ["svg", "pdf", "png"] if "image/svg+xml" in out["data"] else ["png"]
                        about["files"] = [f"{names[place]}.{kind}" for kind in kinds]
                    if metadata.get("paper"):
                        about["paper"] = metadata["paper"]
                    if "text/csv" in out["data"]:
                        about["sheet"] = text(out["data"]["text/csv"])
                    out["data"] = best(readable(out["data"]), target)
                    if target == "html5" and metadata.get("image/png"):
                        about |= {"width": f"{shown(metadata)}px", "least": f"{least(metadata)}px"}
                        if metadata.get("panels"):
                            out["data"] = panels(out["data"], metadata, about["alt"])
                outputs.append(out)
            cell["outputs"] = outputs
            if not cell["source"].strip() and not cell["outputs"]:
                continue
        cells.append(cell)
    nb["cells"] = cells
    nb["metadata"] = {"kernelspec": {"name": "anatomy", "display_name": "Anatomy (Go)", "language": "go"}, "anatomy": dict(meta, outputs=told, pictures=pictures)}
    return json.dumps(readable(nb))


def convert(notebook, target, name, about, *args):
    """about: date, provenance as (name, value) pairs, authors (a list), data (a name, or None for the standard ones), template (whether code
    folds away), in their order the reports of the book that this one belongs to, as (name, title) pairs, pages (names of those of write_page
    beside it), and names (see linked)."""
    names = [n for n, _ in about["book"]]
    at = names.index(name) if name in names else None
    book = [{"name": n, "title": title} for n, title in about["book"]]
    meta = {"name": name, "folder": urllib.parse.quote(name), "pagetitle": name, "date": about["date"], "book": book, "pages": about["pages"],
            "provenance": [{"name": n, "value": v} for n, v in about["provenance"]]}
    if about["authors"]:
        meta["author"] = about["authors"]  # an empty list is "true" to pandoc
    meta |= {key: about[key] for key in ("data", "template") if about.get(key)}
    if at:
        meta["previous"] = book[at - 1]
    if at is not None and at + 1 < len(book):
        meta["next"] = book[at + 1]
    source, full = prepare(notebook, target, meta), str
    if target == "html5":
        source, full = abridged(source)
    return full(pandoc(source, "--from=ipynb+raw_tex", "--ipynb-output=all", f"--to={target}", "--standalone",
                       f"--template={HERE}/template.{target}", f"--lua-filter={HERE}/report.lua", "--fail-if-warnings", "--toc",
                       "--toc-depth=3", "--syntax-highlighting=pygments", *args))


def abridged(source):
    """The source with short names in place of its files in base64, which a page only holds and pandoc would read letter by letter, and the
    function that puts them back. A name is base64, too, and remains the same where it is read and written. A drawing, which pandoc
    encodes, stays as it is with the pixels inside it."""
    files = {}

    def name(m):
        if m[0].startswith('"'):
            return m[0]
        short = hashlib.sha256(m[0].encode()).hexdigest()
        files[short] = m[0]
        return short

    source = re.sub(r'"image/svg\+xml": "[^"\\]*(?:\\.[^"\\]*)*"|[A-Za-z0-9+/]{1000,}={0,2}', name, source)
    return source, lambda page: re.sub("|".join(files) or "(?!)", lambda m: files[m[0]], page)


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


def fault(mime, data):
    """What is wrong with a picture, and with those inside a drawing; "" if it can be shown."""
    if mime == "image/svg+xml":
        drawing = expat.ParserCreate()
        drawing.UseForeignDTD(True)  # HTML has names for letters
        try:
            drawing.Parse(data, True)
        except expat.ExpatError as e:
            return str(e)
        return next(filter(None, map(fault_inside, EMBEDDED.finditer(data.decode()))), "")
    if mime != "image/png":
        begins, ends = {"image/jpeg": (b"\xff\xd8", b"\xff\xd9"), "image/gif": (b"GIF8", b";")}.get(mime, (b"", b""))
        return "" if data.startswith(begins) and data.endswith(ends) and data else f"no whole {mime}"
    at, packed, kind = 8, b"", b""
    try:
        while kind != b"IEND":
            size, kind = struct.unpack(">I4s", data[at:at + 8])
            body, [check] = data[at + 8:at + 8 + size], struct.unpack(">I", data[at + 8 + size:at + 12 + size])
            if check != zlib.crc32(kind + body):
                return "a checksum is wrong"
            packed, at = packed + body * (kind == b"IDAT"), at + 12 + size
        return "" if data.startswith(b"\x89PNG\r\n\x1a\n") and zlib.decompress(packed) else "no PNG"
    except (struct.error, zlib.error) as e:
        return f"the PNG is cut: {e}"


EMBEDDED = re.compile(r"data:(image/[\w.+-]+);base64,([^\"')\s]*)")


def fault_inside(match):
    try:
        return fault(match[1], base64.b64decode(urllib.parse.unquote(match[2]), validate=True))
    except ValueError as e:
        return f"no base64: {e}"


def sound(page):
    """The page, if a browser can show all its pictures: a broken one is found nowhere else before somebody looks."""
    for n, match in enumerate(re.finditer(EMBEDDED.pattern + r"|<svg\b.*?</svg>", page, flags=re.S), 1):
        if why := fault_inside(match) if match[1] else fault("image/svg+xml", match[0].encode()):
            raise ReportError(f"picture {n} of the page cannot be shown: {why}: {match[0][:60]}…")
    return page


def finished(page, scripts=""):
    """The page, readable and with pictures that can be shown, with its style sheet and fonts, and with the order to the browser to fetch nothing and to run no script but
    its own: those that stand in the template and, word for word, in the text given."""
    page, scripts = sound(readable(page)), readable(scripts)
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


def broken(page):
    """The page, whose tables may break names behind dots and slashes, and those of 20 letters and more between words: elsewhere a name would not be
    known again."""
    def parts(code):
        words = re.sub(r"\w{20,}", lambda name: re.sub(r"(?<=[a-z])(?=[A-Z])", "<wbr>", name[0]), code[0])
        return re.sub(r"(?<=\w)[./](?=\w)", r"\g<0><wbr>", words)

    return re.sub(r"<td\b.*?</td>", lambda cell: re.sub(r"(?<=<code>)[^<]+", parts, cell[0]), page, flags=re.S)


def write_html(notebook, name, about, path):
    page = convert(notebook, "html5", name, about, "--gladtex", "--embed-resources")
    path.write_text(finished(broken(linked(mathml(page), about["names"])), written(notebook)), encoding="utf-8")


def linked_pages(notebook):
    """The names of the pages of Markdown to which the prose of a notebook links."""
    prose = "\n".join(text(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    return set(re.findall(r"\]\((?:\.\./)?([\w-]+)\.md(?:#[^)]*)?\)", prose))


def write_page(source, about, folder):
    """A page of Markdown as a report without code."""
    write_html(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(source.read_text(encoding="utf-8"))]), source.stem, about, folder / f"{source.stem}.html")


def typeset(body):
    """The typst that pandoc writes, with what it does not know of formulas. report.lua marks them: texts and strings look like them."""
    def formula(m):
        source = re.sub(r'"([^"$\n.,:/]+)"(?=_\()', r'op("\1", limits: #true)', m[1])  # \operatorname*
        source = re.sub(r'(?<=[ $(])"([A-Za-z]+)" (?=\(|\\\()', r'op("\1") ', source)  # \operatorname
        # \bigl and the like: scaled text would stand apart, and would not be a bracket.
        return re.sub(r"#scale\(x: (\d+)%, y: \1%\)\[(\\?.)\]", lambda m: f"lr(size: #{int(m[1]) / 100}em, {m[2]})", source)

    return re.sub("\ue000(.*?)\ue001", formula, body, flags=re.S)


SMALL = 90  # points of a page that may be left empty beside the space around a figure, together a fifth of its text at most


def settle(places, floats, flushes):
    """Adds the first change that the places of figures and headings in a document ask for to the numbers of figures that float and of places
    where those that wait come first; returns whether there is one. A figure without room floats, and so does one behind those
    that wait; the last of a section stays in it, on the next page, if that leaves little empty. Nothing passes those that wait near the end of
    a page."""
    pages = {p["number"]: p["page"] for p in places if p["kind"] == "floated"}
    for p in sorted((p for p in places if p["kind"] != "floated"), key=lambda p: p["number"]):
        number, little = p["number"], p["room"] < SMALL
        if number in floats:
            continue
        waiting = any(n < number and page > p["page"] for n, page in pages.items())
        if waiting and little and number not in flushes:
            flushes.append(number)
            return True
        if p["kind"] == "figure" and (waiting or p["height"] >= p["room"] and not (p["last"] and little)):
            floats.append(number)
            return True
    return False


def write_pdf(notebook, name, about, seconds, path):
    """seconds is the time of creation that the document carries, counted from 1970."""
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "report.typ")
        body = convert(notebook, "typst", name, about, f"--extract-media={folder}/media")
        body = typeset(body.replace(folder + "/", ""))
        source.write_text(body, encoding="utf-8")
        try:
            # One compiler, and what changes in a file: it does again only what depends on this.
            compiler, settled = typst.Compiler(str(source), root=folder), pathlib.Path(folder, "settled.json")
            floats, flushes, changed = [], [], True
            while changed:
                settled.write_text(json.dumps({"floats": floats, "flushes": flushes}))
                changed = settle(json.loads(compiler.query("<place>", field="value")), floats, flushes)
            compiler.compile(output=str(path), timestamp=seconds)
        except typst.TypstError as e:
            raise ReportError(f"typst: {e}")


COVER = 60_000  # bytes at most
COVERED = "application/vnd.anatomy.cover"  # beside a picture, what viz draws as its cover


def pixels(data):
    """Width, height and the RGBA bytes of a PNG."""
    image = Image.open(io.BytesIO(data)).convert("RGBA")
    return *image.size, image.tobytes()


def coarser(data):
    """A PNG with 32 shades of red, green and blue each, which pack better."""
    width, height, rgba = pixels(data)
    shades = bytes(round(round(v / 255 * 31) * 255 / 31) for v in range(256))
    rgb = bytearray(3 * width * height)
    for k in range(3):
        rgb[k::3] = rgba[k::4].translate(shades)
    lines = b"".join(b"\0" + rgb[3 * width * y:3 * width * (y + 1)] for y in range(height))
    chunk = lambda kind, body: struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    return data[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(lines, 9)) + chunk(b"IEND", b"")


def covering(notebook):
    """The output that stands for a notebook, with the tags of its cell: the first picture, or that of the cell with the tag "cover", of several
    the one that viz drew as a cover."""
    best = None
    for cell in notebook["cells"]:
        tags = [t for t in cell["metadata"].get("tags", []) if re.fullmatch(r"cover(-[1-9])?", t)]
        pictures = [out for out in cell.get("outputs", []) if {"image/svg+xml", "image/png"} & out.get("data", {}).keys()]
        if pictures and (best is None or tags and not best[0]):
            best = tags, next((out for out in pictures if COVERED in out["data"]), pictures[0])
    return best


def cover(notebook):
    """The picture that stands for a notebook, as PNG: what viz drew as one, or of several panels the first, or the second with the tag
    "cover-2"."""
    if not (best := covering(readable(notebook))):
        return b""
    tags, out = best
    if COVERED in out["data"]:
        data, suffix = text(out["data"][COVERED]).encode(), "svg"
        source = '#set page(width: 240pt, height: auto, margin: 0pt)\n#image("%s", width: 100%%)'
    else:
        panels = out.get("metadata", {}).get("panels") or [0, 0, 1, 1]
        panel = min(int(tags[0][6:] or 1) if tags else 1, len(panels) // 4)
        x, y, w, h = panels[4 * panel - 4:4 * panel]
        suffix = "svg" if "image/svg+xml" in out["data"] else "png"
        data = text(out["data"]["image/svg+xml"]).encode() if suffix == "svg" else base64.b64decode(text(out["data"]["image/png"]))
        size = out.get("metadata", {}).get("image/png") or {"width": 1, "height": 1}
        width, ratio = 240, size["height"] / size["width"] * h / w  # points
        source = (f"#set page(width: {width}pt, height: {width * ratio}pt, margin: 0pt)\n"
                  f'#place(dx: {-x / w * width}pt, dy: {-y / h * width * ratio}pt, image("%s", width: {width / w}pt, height: {width * ratio / h}pt))')
    for ppi in 192, 160, 128, 96, 72:
        small = drawn(data, suffix, "png", source, ppi=ppi)
        if len(small) > COVER:
            small = coarser(small)
        if len(small) <= COVER:
            return small
    return small


def summary(notebook):
    """The first sentence of the prose, as HTML."""
    for cell in notebook["cells"]:
        for block in re.split(r"\n\s*\n", text(cell["source"]).strip()) if cell["cell_type"] == "markdown" else []:
            prose = "\n".join(line for line in block.splitlines() if not line.startswith("#")).strip()
            if prose and not re.fullmatch(r"[*_][^*_].*[*_]", prose, flags=re.S):
                sentence = re.sub(r":$", ".", re.split(r"(?<=[.!?])\s", prose.split("$$")[0].strip(), maxsplit=1)[0])
                return mathml(pandoc(sentence, "--from=commonmark_x", "--to=html5", "--gladtex"))
    return ""


def write_gallery(entries, folder):
    """The covers of notebooks as files that are small enough for the repository, NAME.png. entries as of write_index."""
    folder.mkdir(exist_ok=True)
    for name, notebook in entries:
        if picture := cover(notebook):
            (folder / f"{name}.png").write_bytes(picture)


def plain(markdown):
    """A title without the marks of Markdown and TeX."""
    return re.sub(r"[$*_`]|\\[a-z]+", "", markdown)


def title(notebook, name):
    """The first heading of the first level, as Markdown; the name if there is none."""
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            m = re.search(r"^#\s+(.+?)\s*#*$", text(cell["source"]), flags=re.M)
            if m:
                return m.group(1)
    return name


def used(check):
    """How much of its tolerance a check uses, as text; "" if it has none, or numbers that cannot be compared."""
    try:
        got, want, tolerance = (float(check[key]) for key in ("got", "want", "tol"))
    except (KeyError, ValueError):
        return ""
    share = abs(got - want) / tolerance if tolerance > 0 else math.nan
    if not math.isfinite(share):
        return ""
    return "below 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def write_checks(entries, about, path):
    """A page with all that the notebooks have checked. entries: (name, executed notebook); about as of convert."""
    cells, count = [], 0
    for name, notebook in entries:
        said = []
        for check in (c for cell in notebook["cells"] for c in cell["metadata"].get("checks", [])):
            share = used(check)
            values = f": got {check['got']} (want {check['want']} ± {check['tol']}" + (f"; {share} of the tolerance" if share else "") + ")" if "got" in check else ""
            said.append(nbformat.v4.new_output("display_data", {"text/markdown": f"{'✓' if check['ok'] else '✗'} {check['what']}{values}"}))
        count += len(said)
        cells += [nbformat.v4.new_markdown_cell(f"## [{title(notebook, name)}]({name}.ipynb)"), nbformat.v4.new_code_cell(outputs=said)]
    head = nbformat.v4.new_markdown_cell(f"# All checks\n\n*{count} claims, each checked whenever the reports are made*\n\n"
                                           "*got* is the measured value, *want* the expected one with its tolerance. *The listing* is code of the notebook itself, *the library* the packages. "
                                           "A *recorded* value is a former result, of which theory says nothing. σ is the width of the kernel, unless a line says otherwise. "
                                           "*The paper* is L. Kühnel and S. Sommer, *Computational Anatomy in Theano* (2017).")
    write_html(nbformat.v4.new_notebook(cells=[head, *cells]), "checks", about, path)
    field = '<p><input type="search" id="filter" placeholder="Show the checks with these words" aria-label="Show the checks with these words"></p>'
    path.write_text(path.read_text(encoding="utf-8").replace('<main id="main">', '<main id="main">\n' + field, 1), encoding="utf-8")


def shell(name, head, body, script=""):
    """A page that is not made of a notebook, and its script if it has one."""
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
{script}
</body>
</html>
""", script)


def recipes(page):
    """The recipes on the page of that name, by the functions that their code calls: {"viz.Show": [(place, question)]}."""
    found = {}
    for place, question, body in re.findall(r'<h3[^>]*\bid="([^"]*)"[^>]*>(.*?)</h3>(.*?)(?=<h[23]|\Z)', page, flags=re.S):
        for name in sorted(set(re.findall(r"\b[a-z]\w*\.[A-Z]\w*", re.sub(r"<[^>]*>", "", body)))):
            found.setdefault(name, []).append((place, question))
    return found


def write_packages(page, names, path):
    """The documentation of the packages, to which the reports link: what each is for, as doc.go says, a search field, and all names, each with
    its first recipes if their page lies beside path."""
    beside = path.with_name("recipes.html")
    for name, cooked in recipes(beside.read_text(encoding="utf-8") if beside.exists() else "").items():
        links = " · ".join(f'<a href="recipes.html#{place}">{question}</a>' for place, question in cooked[:3])
        page = re.sub(rf'(<h3 id="{name}">.*?</h3>\n)', lambda m: f"{m[1]}<p>{links}</p>\n", page)
    tasks = dict(re.findall(r"^//\t(\S+)\s+(.+)$", (HERE.parents[1] / "doc.go").read_text(encoding="utf-8"), flags=re.M))
    packages = re.findall(r'<h2 id="([^"]*)"', page)
    contents = "".join(f'<li><a href="#{name}">{name}</a></li>' for name in packages)
    by_task = "".join(f'<tr><td>{html.escape(tasks[name])}</td><td><a href="#{name}">{name}</a></td></tr>' for name in tasks if name in packages)
    field, script = search([], names, path.parent)
    path.write_text(shell("Packages", f"""<nav class="pages"><a href="index.html">All reports</a></nav>
<header><h1>Packages</h1></header>
<nav id="TOC" aria-label="Contents"><ul>{contents}</ul></nav>""", f"""{field}
<table><thead><tr><th>for</th><th>package</th></tr></thead><tbody>{by_task}</tbody></table>
<div class="reference">{page}</div>""", script), encoding="utf-8")


SEARCH = """
const places = JSON.parse(document.getElementById("places").textContent), field = document.getElementById("search"), found = document.getElementById("found");
field.oninput = () => {
  const words = field.value.toLowerCase().split(/\\s+/).filter(w => w);
  const holds = text => words.every(w => text.toLowerCase().includes(w));
  const hits = words.length ? places.map(p => [holds(p[0]) ? 0 : holds(p.slice(0, 3).join(" ")) ? 1 : 2, p]).filter(h => h[0] < 2) : [];
  hits.sort((a, b) => a[0] - b[0] || a[1][0].length - b[1][0].length);
  found.replaceChildren(...hits.slice(0, 40).map(([, [name, about, , place]]) => {
    const item = document.createElement("li"), link = item.appendChild(document.createElement("a"));
    link.href = place;
    link.textContent = name;
    item.append(" " + about);
    return item;
  }));
  if (words.length && !hits.length) found.textContent = "Nothing has these words.";
};
"""


def sections(page):
    """The sections of a report's page: (id, heading, text) each."""
    page = re.sub(r'<details.*?</details>|<p class="save">.*?</p>|<(script|style|svg|nav|footer)\b.*?</\1>', " ", page[page.find("<main"):], flags=re.S)
    parts = re.split(r'<h[2-4][^>]*\bid="([^"]*)"[^>]*>(.*?)</h[2-4]>', page, flags=re.S)
    words = lambda s: " ".join(html.unescape(re.sub(r"<[^>]*>", " ", s)).split())
    return [(place, words(heading), words(text)) for place, heading, text in zip(parts[1::3], parts[2::3], parts[3::3])]


def search(entries, names, folder):
    """A field that finds sections of the reports in a folder and names of the packages, as HTML, and its script."""
    places = []
    for name, notebook in entries:
        page = folder / f"{name}.html"
        places.append([plain(title(notebook, name)), "", "", f"{name}.html"])
        places += [[heading, plain(title(notebook, name)), words, f"{name}.html#{place}"] for place, heading, words in sections(page.read_text(encoding="utf-8") if page.exists() else "")]
    places += [[name, declaration, "", f"packages.html#{name}"] for name, declaration in sorted(names.items())]
    data = json.dumps(places, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return ('<p><input type="search" id="search" placeholder="Search reports and functions" aria-label="Search reports and functions"></p>\n<ul id="found" role="status"></ul>',
            f'<script type="application/json" id="places">{data}</script>\n<script>{SEARCH}</script>')


PARTS = ["First steps", "The paper", "Other geometries", "Statistics in practice", "Random paths and inference", "Your own data"]


def part(name):
    """The index in PARTS of a notebook: the number that its name begins with; that of the last, templates and notebooks of one's own, without."""
    return next((n for n in range(len(PARTS)) if re.match(f"{n}[-_]", name)), len(PARTS) - 1)


def parts(entries):
    """The entries by their parts, as (title, entries) pairs, in the order of their names."""
    ordered = sorted(entries, key=lambda e: e[0])
    return [(title, group) for n, title in enumerate(PARTS) if (group := [e for e in ordered if part(e[0]) == n])]


def write_index(entries, about, path):
    """entries: (name, executed notebook), whose reports lie beside path; about as of convert."""
    def card(name, notebook):
        image, picture = "", cover(notebook)
        if picture:
            out = covering(notebook)[1]
            # Where light and dark are turned over, the light on a body in space would come from below.
            solid = "drag to turn" in text(out["data"].get("text/html", ""))
            paper = "on-paper" if solid else ground(out.get("metadata", {}))
            image = f'<img src="data:image/png;base64,{base64.b64encode(picture).decode()}" class="{paper}" width="320" alt="">'
        # As a heading, so that the number in front does not make it a list.
        heading = mathml(pandoc("# " + title(notebook, name), "--from=commonmark_x", "--to=html5", "--gladtex"))
        heading = re.sub(r"\A<h1[^>]*>(.*)</h1>\s*\Z", r"\1", heading, flags=re.S)
        return (f'<li><a class="picture" href="{name}.html" tabindex="-1" aria-hidden="true">{image}</a>\n'
                f'<h3><a href="{name}.html">{heading}</a></h3>\n{summary(notebook)}<p class="files"><a href="{name}.html">HTML</a> <a href="{name}.pdf">PDF</a></p></li>')

    first = next((f'<p><strong>Start here:</strong> <a href="{name}.html">{html.escape(plain(title(notebook, name)))}</a> comes first; each report '
                  'leads to the next. Reports about your own data are made by notebook templates of the last part.</p>'
                  for _, group in parts(entries) for name, notebook in group), "")
    groups = "\n".join(f'<h2>{part}</h2>\n<ol class="reports">\n' + "\n".join(card(*e) for e in group) + "\n</ol>" for part, group in parts(entries))
    field, script = search(entries, about["names"], path.parent)
    pages = "".join(f'<a href="{page}.html">{page.replace("-", " ")}</a>, ' for page in about["pages"])
    made = " · ".join([about["date"]] + [f"{name} {value}" for name, value in about["provenance"]])
    path.write_text(shell("Computational anatomy: reports", "<header>\n<h1>Computational anatomy: reports</h1>\n</header>",
                          f"""{field}
{first}
<p>Beside them: {pages}<a href="checks.html">all checks</a> of the lessons, <a href="tests.html">all tests</a> of the packages, and <a href="packages.html">all functions</a> by package.</p>
{groups}
<footer id="provenance">{html.escape(made)}</footer>""", script), encoding="utf-8")
