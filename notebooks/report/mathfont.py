"""mathfont.py OUT.css: the glyphs of STIX Two Math that formulas use, as a style sheet with the font inside."""
import base64
import os
import pathlib
import sys
import tempfile

import ziamath
from fontTools import subset

GLYPHS = ("U+20-7E,A0-FF,131,237,2B0-2FF,300-338,370-3FF,2000-206F,207F,20D0-20EF,2100-214F,2190-21FF,2200-22FF,2300-23FF,"
          "25A0-25FF,27C0-27FF,2900-2AFF,1D400-1D7FF")
SOURCE = pathlib.Path(ziamath.__file__).parent / "fonts" / "STIXTwoMath-Regular.ttf"

out = pathlib.Path(sys.argv[1])
out.parent.mkdir(parents=True, exist_ok=True)
with tempfile.TemporaryDirectory(dir=out.parent) as folder:
    font = pathlib.Path(folder, "math.woff2")
    subset.main([str(SOURCE), f"--unicodes={GLYPHS}", "--flavor=woff2", "--layout-features=*", f"--output-file={font}"])
    css = pathlib.Path(folder, "math.css")
    css.write_text('@font-face{font-family:"Report Math";src:url(data:font/woff2;base64,%s) format("woff2")}\n'
                   % base64.b64encode(font.read_bytes()).decode())
    os.replace(css, out)
