"""The mathematical font of a page: the glyphs of STIX Two Math that its formulas use, 50 to 70 KB."""
import base64
import html
import io
import pathlib
import re

import ziamath
from fontTools import subset

SOURCE = pathlib.Path(ziamath.__file__).parent / "fonts" / "STIXTwoMath-Regular.ttf"
# A browser shows a single letter of a formula by the italic one: Latin, Greek, and h, which Unicode has elsewhere.
ITALIC = {*range(0x1D434, 0x1D468), *range(0x1D6E2, 0x1D71C), 0x210E}


def css(page):
    """A style sheet with the font inside; empty if the page has no formulas."""
    formulas = "".join(re.findall(r"<math\b.*?</math>", page, flags=re.S))
    if not formulas:
        return ""
    letters = set(html.unescape(re.sub(r"<[^>]*>", "", formulas)))
    if "<msqrt" in formulas or "<mroot" in formulas:
        letters.add("√")
    options = subset.Options(flavor="woff", layout_features=["*"])
    font = subset.load_font(str(SOURCE), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes={ord(c) for c in letters} | ITALIC)
    subsetter.subset(font)
    out = io.BytesIO()
    subset.save_font(font, out, options)
    return '@font-face{font-family:"Report Math";src:url(data:font/woff;base64,%s) format("woff")}\n' % base64.b64encode(out.getvalue()).decode()
