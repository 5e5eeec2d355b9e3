"""Tries the page of the program anatomy in a headless Chromium, from a file without a server and without a network.

    browse.py       needs what `make page` writes and `make test-lab` sets up; CHROMIUM names the browser, if it is not on the PATH

Its tables are those of the program on this machine, byte by byte; findings are acted upon and that is taken back; errors are shown beside the button that was pressed, work can be stopped, and nothing is wider than a phone.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from playwright.sync_api import expect, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "kernels" / "jupyter"))
import lab

PAGE = ROOT / ".anatomy" / "page" / "anatomy.html"
DATA = ROOT / "landmarks" / "morpho" / "data" / "plethodon_12.csv"
FILES = "() => Object.fromEntries(report.files.map(([name, bytes]) => [name, [...bytes]]))"


def native(folder, *args):
    """The files of the same report by the program on this machine."""
    subprocess.run(["go", "run", "./landmarks/morpho/anatomy", "report", DATA, "--out", folder, *args], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return {f"report/{p.relative_to(folder).as_posix()}": p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def main():
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        folder = pathlib.Path(folder)
        chromium = playwright.chromium.launch(executable_path=lab.browser(), args=["--no-sandbox"])
        context = chromium.new_context(offline=True, viewport={"width": 1100, "height": 900})
        page = context.new_page()
        faults = []
        page.on("pageerror", lambda e: faults.append(str(e)))
        page.on("request", lambda r: faults.append(r.url) if not r.url.startswith(("file:", "blob:", "data:")) else None)
        page.goto(PAGE.as_uri())
        expect(page.locator("#status")).to_have_text("Ready.", timeout=60_000)
        expect(page.locator("#report")).to_be_disabled()

        # a folder that is dropped: scripts cannot make one, so an entry stands for it
        page.evaluate("""() => {
            const file = (name, text) => ({ isFile: true, name, file: done => done(new File([text], name)) });
            const batches = [[file("a.pts", "0 0\\n1 0\\n0 1\\n"), { isFile: false, name: "more" }], [file("b.pts", "0 0\\n2 0\\n0 1\\n"), file(".hidden", "")], []];
            const folder = { isFile: false, name: "shapes", createReader: () => ({ readEntries: done => done(batches.shift()) }) };
            const event = new Event("drop");
            event.dataTransfer = { items: [{ webkitGetAsEntry: () => folder }] };
            document.getElementById("drop").ondrop(event);
        }""")
        expect(page.locator("#inspect")).to_be_enabled()
        page.click("#inspect")
        expect(page.locator("#about")).to_contain_text("2 specimens", timeout=60_000)

        # What is found is acted upon beside the finding, and taken back; each time the picture and the findings are new.
        faulty = folder / "faulty.csv"
        lines = [line.split(",") for line in DATA.read_text().splitlines()]
        faulty.write_text("\n".join(",".join([*row[:-2], "-" + row[-2], row[-1]] if row[0] == "s21" else row) for row in lines))
        page.set_input_files("#data", faulty)
        page.click("#inspect")
        mirror = page.locator("#findings button:has-text('mirror s21')")
        expect(mirror).to_be_enabled(timeout=60_000)
        seen = page.locator("#picture").get_attribute("srcdoc")
        assert "<svg" in seen and page.evaluate("document.activeElement.id") == "about"
        mirror.click()
        expect(page.locator("#done")).to_have_text("mirror s21 undo", timeout=60_000)
        expect(page.locator("#about")).to_contain_text("No specimen looks odd.")
        assert page.locator("#picture").get_attribute("srcdoc") != seen
        page.locator("#done button").click()
        expect(mirror).to_be_enabled(timeout=60_000)
        expect(page.locator("#done")).to_be_empty()

        page.set_input_files("#data", DATA)
        page.click("#inspect")
        expect(page.locator("#about")).to_contain_text("40 specimens", timeout=60_000)
        page.click("#columns button:has-text('species')")
        page.click("#columns button:has-text('site')")
        expect(page.locator("#model")).to_have_value("species + site")

        page.fill("#model", "size + species*site")
        page.click("#report")
        expect(page.locator("#status")).to_contain_text("Done in", timeout=120_000)
        print("  the report:", page.locator("#status").text_content())
        expect(page.frame_locator("#page").locator("h2").first).to_have_text("Summary")
        page.wait_for_function("() => { const d = $('page').contentDocument.documentElement; return d.scrollHeight > 2000 && d.scrollHeight <= $('page').clientHeight; }")
        got = {name: bytes(b) for name, b in page.evaluate(FILES).items()}
        want = native(folder / "native", "--model", "size + species*site")
        for name, data in want.items():
            if name.startswith("report/tables/"):
                assert got[name] == data, f"{name} differs from the program's:\n{got[name].decode()}\n{data.decode()}"
        assert set(want) <= set(got) and got["report.zip"][:2] == b"PK", set(want) - set(got)
        same = sum(got[name] == data for name, data in want.items())
        print(f"  {same} of {len(want)} files are the program's to the last byte, all tables among them")
        with page.expect_download() as download:
            page.click("#zip")
        assert pathlib.Path(download.value.path()).read_bytes() == got["report.zip"]
        with page.expect_download() as download:
            page.frame_locator("#page").locator("a:has-text('CSV')").first.click()
        assert pathlib.Path(download.value.path()).read_bytes().startswith(b"component,share")

        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
        links = {"curves": "1-3; 3-6", "links": "1-2, 2-3, 3-4, 4-5"}
        for flag, value in links.items():
            page.fill(f"[data-flag={flag}]", value)
        page.click("#report")
        expect(page.locator("#status")).not_to_contain_text("Done in")
        expect(page.locator("#status")).to_contain_text("Done in", timeout=120_000)
        got = {name: bytes(b) for name, b in page.evaluate(FILES).items()}
        want = native(folder / "links", "--model", "size + species*site", "--curves", links["curves"], "--links", links["links"])
        assert all(got[name] == data for name, data in want.items() if name.startswith("report/tables/")), "tables with curves differ from the program's"
        for flag in links:
            page.fill(f"[data-flag={flag}]", "")
        print("  semi-landmarks of curves and a wireframe: all tables are the program's")

        page.fill("#model", "colour")
        page.click("#report")
        expect(page.locator("#error")).to_contain_text('no covariate "colour"', timeout=60_000)
        assert page.evaluate("$('report').nextElementSibling.id + document.activeElement.id") == "saiderror"
        expect(page.locator("#result")).to_be_hidden()
        page.fill("#model", "species*site")
        page.fill("#permutations", "10000000")
        page.click("#report")
        expect(page.locator("#status")).to_contain_text("of 10000000", timeout=60_000)
        page.click("#stop")
        expect(page.locator("#status")).to_have_text("Stopped.")

        page.set_viewport_size({"width": 390, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        context.close()
        chromium.close()
        assert not faults, faults


if __name__ == "__main__":
    lab.browser()
    main()
