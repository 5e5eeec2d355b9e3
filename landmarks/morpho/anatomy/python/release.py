"""Writes a release into .anatomy/release, a folder that the owner of the project uploads: `make release`.

    release.py          everything: programs, wheels, page, source archive, notes, metadata, checksums
    release.py wheel    only the wheel for this system, in .anatomy/wheel

It needs Go and git, a C compiler for each wheel with Space, and nothing of Python but its library. Equal sources, with equal versions of Go, Python
and the compilers, give equal bytes: no file holds a time, a name of a machine or a path of it.
"""
import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[4]
HERE = pathlib.Path(__file__).resolve().parent
# The name of the wheel in a registry. PyPI has a package "anatomy" of somebody else; the module is imported as `anatomy` all the same.
NAME = "anatomy-shapes"
# Systems as Go names them, and the tags of their wheels. The program for Linux is static, so that it runs beside any C library; Go 1.26 needs
# macOS 12.
SYSTEMS = {
    "linux-amd64": "manylinux_2_17_x86_64.musllinux_1_1_x86_64",
    "linux-arm64": "manylinux_2_17_aarch64.musllinux_1_1_aarch64",
    "darwin-amd64": "macosx_12_0_x86_64",
    "darwin-arm64": "macosx_12_0_arm64",
    "windows-amd64": "win_amd64",
    "windows-arm64": "win_arm64",
}
# The program for Space loads XLA, so it is linked with the C library, and is in a wheel of its own tag, which pip prefers where the library is new
# enough: glibc 2.34. Beside the tag stands the C compiler that builds it from another system.
SPACE = {
    "linux-amd64": ("manylinux_2_34_x86_64", "x86_64-linux-gnu-gcc"),
    "linux-arm64": ("manylinux_2_34_aarch64", "aarch64-linux-gnu-gcc"),
}
PURE = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-buildvcs=false", "GOAMD64": "v1", "GOARM64": "v8.0"}
GO_BUILD = ["go", "build", "-trimpath", "-ldflags=-s -w"]


def answer(*command):
    return subprocess.run(command, cwd=ROOT, env=PURE, check=True, stdout=subprocess.PIPE).stdout


def version():
    return re.search(r'^const Version = "(.+)"$', (ROOT / "doc.go").read_text(), re.MULTILINE)[1]


def this_system():
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine().lower())
    return f"{platform.system().lower()}-{machine}"


def build_space(system, folder):
    """Builds the program anatomy-space for a system, where that can be done, and returns its file."""
    if system not in SPACE:
        return None
    compiler = answer("go", "env", "CC").decode().strip() if system == this_system() else SPACE[system][1]
    if not shutil.which(compiler.partition(" ")[0]):
        print(f"without Space for {system}, because {compiler} is not there: Debian `apt-get install gcc-{SPACE[system][1].removesuffix('-gcc')}`")
        return None
    file = folder / f"anatomy-space-{version()}-{system}"
    built_for = {**PURE, "CGO_ENABLED": "1", "GOARCH": system.partition("-")[2], "CC": compiler}
    subprocess.run([*GO_BUILD, "-o", str(file), "./landmarks/serve"], cwd=ROOT, env=built_for, check=True)
    return file


def build(system, folder):
    """Builds the program anatomy for a system, and returns its file."""
    goos, goarch = system.split("-")
    file = folder / (f"anatomy-{version()}-{system}" + (".exe" if goos == "windows" else ""))
    subprocess.run([*GO_BUILD, "-o", str(file), "./landmarks/morpho/anatomy"], cwd=ROOT, env={**PURE, "GOOS": goos, "GOARCH": goarch}, check=True)
    return file


def xla():
    """The wheels of XLA that the project pins, as `name==version ; platform`, for METADATA."""
    return re.findall(r"^((?:fastatomstruct-xla-cpu|xla-cpu-pjrt)==.*?) \\$", (ROOT / "kernels/jupyter/requirements.txt").read_text(), re.MULTILINE)


def put(archive, name, data, executable=False):
    """Adds a file to a ZIP archive, with the time that is the earliest there can be."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.create_system, info.external_attr = 3, (0o100755 if executable else 0o100644) << 16  # 3: Unix
    archive.writestr(info, data, zipfile.ZIP_DEFLATED, 9)


def wheel(system, program, folder, space=None):
    """Writes the wheel with the program for a system, and with that for Space if it is given, after
    packaging.python.org/specifications/binary-distribution-format. Returns its file."""
    stem = f"{NAME.replace('-', '_')}-{version()}"
    tags = SPACE[system][0] if space else SYSTEMS[system]
    required = "\n".join(f'Requires-Dist: {name} and extra == "space"' for name in xla())
    metadata = f"""Metadata-Version: 2.1
Name: {NAME}
Version: {version()}
Summary: Statistics of anatomical shapes: align, compare and test landmarks
License: MIT
Requires-Python: >=3.10
Requires-Dist: numpy
Provides-Extra: pandas
Requires-Dist: pandas; extra == "pandas"
Provides-Extra: space
{required}
Description-Content-Type: text/markdown

"""
    about = f"Wheel-Version: 1.0\nGenerator: anatomy {version()}\nRoot-Is-Purelib: false\n"
    about += "".join(f"Tag: py3-none-{tag}\n" for tag in tags.split("."))
    files = {f"anatomy/{path.name}": path.read_bytes() for path in sorted((HERE / "anatomy").glob("*.py"))}
    scripts = {f"{stem}.data/scripts/anatomy" + (".exe" if system.startswith("windows") else ""): program.read_bytes()}
    if space:
        scripts[f"{stem}.data/scripts/anatomy-space"] = space.read_bytes()
    files |= scripts | {
        f"{stem}.dist-info/METADATA": (metadata + (HERE / "README.md").read_text()).encode(),
        f"{stem}.dist-info/WHEEL": about.encode(),
        f"{stem}.dist-info/licenses/LICENSE": (ROOT / "LICENSE").read_bytes(),
        f"{stem}.dist-info/licenses/NOTICE.md": (ROOT / "NOTICE.md").read_bytes(),
    }
    record = "".join(f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip('=')},{len(data)}\n"
                     for name, data in files.items())
    files[f"{stem}.dist-info/RECORD"] = (record + f"{stem}.dist-info/RECORD,,\n").encode()
    file = folder / f"{stem}-py3-none-{tags}.whl"
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in files.items():
            put(archive, name, data, executable=name in scripts)
    return file


def source():
    """The committed sources as a .tar.gz file. Who has not committed is told so, because programs are built from the folder as it is."""
    changed = answer("git", "status", "--porcelain").decode().strip()
    if changed:
        sys.exit(f"release: commit these first, because the source archive holds what is committed:\n{changed}")
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=9, mtime=0) as out:
        out.write(answer("git", "-c", "tar.umask=0022", "archive", "--format=tar", f"--prefix=anatomy-{version()}/", "HEAD"))
    return packed.getvalue()


def notes():
    """What CHANGELOG.md says about this version, without links into the repository."""
    text = (ROOT / "CHANGELOG.md").read_text()
    part = re.search(rf"^## {re.escape(version())}\b.*?(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not part:
        sys.exit(f"release: CHANGELOG.md has no section about version {version()}")
    return re.sub(r"\[([^]]+)\]\((?!https?:)[^)]*\)", r"\1", part[0]).strip() + "\n"


def modules(program):
    """Path, version and checksum of each module in a program, as Go wrote them into it."""
    lines = answer("go", "version", "-m", str(program)).decode().splitlines()
    return {tuple(line.split("\t")[2:5]) for line in lines if line.startswith("\tdep\t")}


def bill(programs):
    """A software bill of materials: the modules in any of the programs, in CycloneDX's format, version 1.5."""
    found = sorted(set().union(*(modules(p) for p in programs)))
    go = answer("go", "env", "GOVERSION").decode().strip()
    parts = [{"type": "library", "name": "std", "version": go.removeprefix("go"), "purl": f"pkg:golang/std@{go.removeprefix('go')}"}]
    for path, number, checksum in found:
        parts.append({"type": "library", "name": path, "version": number, "purl": f"pkg:golang/{path}@{number}",
                      "hashes": [{"alg": "SHA-256", "content": base64.b64decode(checksum.removeprefix("h1:")).hex()}]})
    this = {"type": "application", "name": "anatomy", "version": version(), "licenses": [{"license": {"id": "MIT"}}]}
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": this}, "components": parts}


def metadata():
    """.zenodo.json and codemeta.json from CITATION.cff, which alone names authors."""
    cited = (ROOT / "CITATION.cff").read_text()
    authors = re.search(r"^authors:\n((?:  .*\n)+)", cited, re.MULTILINE)[1]
    people = []
    for entry in re.split(r"^  - ", authors, flags=re.MULTILINE)[1:]:
        people.append(dict(re.findall(r'^ *([a-z-]+): "?(.*?)"?$', entry, re.MULTILINE)))
    title = re.search(r'^title: "(.*)"$', cited, re.MULTILINE)[1]
    about = "Align, compare, average and deform landmarks, outlines and surfaces; statistics of shapes with permutation tests."
    named = [p.get("name") or f"{p['family-names']}, {p['given-names']}" for p in people]
    zenodo = {"title": title, "version": version(), "upload_type": "software", "license": "MIT", "description": about,
              "creators": [{"name": name, **{k: p[k] for k in ("orcid", "affiliation") if k in p}} for name, p in zip(named, people)],
              "related_identifiers": [{"identifier": "arXiv:1706.07690", "relation": "isSupplementTo", "scheme": "arxiv"}]}
    codemeta = {"@context": "https://w3id.org/codemeta/3.0", "@type": "SoftwareSourceCode", "name": title, "version": version(), "description": about,
                "license": "https://spdx.org/licenses/MIT", "programmingLanguage": ["Go", "Python"], "operatingSystem": ["Linux", "macOS", "Windows"],
                "author": [{"@type": "Organization", "name": p["name"]} if "name" in p else
                           {"@type": "Person", "familyName": p["family-names"], "givenName": p["given-names"]} for p in people]}
    return {".zenodo.json": zenodo, "codemeta.json": codemeta}


def site(reports):
    """The reports of all lessons with their index, search and page of functions, as a ZIP archive for a web server; None where there are
    none, or others beside them. They hold times that were measured: two runs give other bytes."""
    listed = reports / ".reports.json"
    names = json.loads(listed.read_text()) if listed.exists() else {}
    if "index" not in names or any(names.values()):
        print(f"without reports: {reports.relative_to(ROOT)} " + ("has reports of other data, too" if any(names.values()) else "has no index; `make report` writes it"))
        return None
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for file in sorted(f for name in names for place in (reports / f"{name}.html", reports / f"{name}.pdf", *(reports / name).rglob("*"))
                           if (f := place).is_file()):
            put(archive, f"anatomy-{version()}-reports/{file.relative_to(reports).as_posix()}", file.read_bytes())
    return packed.getvalue()


def release(folder):
    archive = source()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    programs = []
    for system in SYSTEMS:
        programs.append(program := build(system, folder))
        wheel(system, program, folder)
        if space := build_space(system, folder):
            programs.append(space)
            wheel(system, program, folder, space)
    shutil.copyfile(ROOT / ".anatomy" / "page" / "anatomy.html", folder / f"anatomy-{version()}.html")
    (folder / f"anatomy-{version()}-source.tar.gz").write_bytes(archive)
    (folder / "release-notes.md").write_text(notes())
    if reports := site(ROOT / "notebooks" / "reports"):
        (folder / f"anatomy-{version()}-reports.zip").write_bytes(reports)
    shutil.copytree(ROOT / ".github" / "joss", folder / "joss")
    for name, content in {"sbom.cdx.json": bill(programs), **metadata()}.items():
        (folder / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    files = sorted(f for f in folder.rglob("*") if f.is_file())
    (folder / "SHA256SUMS").write_text("".join(f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.relative_to(folder).as_posix()}\n" for f in files))
    for f in [*files, folder / "SHA256SUMS"]:
        print(f"{f.stat().st_size / 1e6:8.2f} MB  {f.relative_to(ROOT)}")


def main(arguments):
    if arguments == ["wheel"]:
        folder = ROOT / ".anatomy" / "wheel"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        system = this_system()
        print(wheel(system, build(system, folder), folder, build_space(system, folder)).relative_to(ROOT))
    elif not arguments:
        release(ROOT / ".anatomy" / "release")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
