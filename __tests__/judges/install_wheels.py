"""
Creates wheels with one fault each, and tries to install them with pip and uv: a folder in, {kind: {...}} out.

pip installs each wheel twice, by path and by the name of the project (with the folder as the only source); uv installs
it by path.
"""

import base64
import contextlib
import hashlib
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import warnings
import zipfile
import zlib

for name in [name for name in os.environ if name.startswith("PIP_")]:
    del os.environ[name]

import pip
from pip._internal.cli.main import main

warnings.simplefilter("ignore")

PLAIN = "foo-1.0-py3-none-any.whl"
METADATA = "Metadata-Version: 2.1\nName: foo\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def entries(folder="foo-1.0.dist-info", metadata=METADATA, wheel=WHEEL, record=True, first=(), last=()):
    found = [("foo/__init__.py", "x = 1\n"), *first]
    found += [(f"{folder}/METADATA", metadata)] if metadata is not None else []
    found += [(f"{folder}/WHEEL", wheel)] if wheel is not None else []
    found += last
    rows = "".join(f"{name},,\n" for name, _ in found)
    return found + ([(f"{folder}/RECORD", rows)] if record is True else [(f"{folder}/RECORD", record)] if record else [])


def version(text):
    return METADATA.replace("Version: 1.0", f"Version: {text}")


def name(text):
    return METADATA.replace("Name: foo", f"Name: {text}")


def extra(*names):
    return entries(first=[(name, "x") for name in names])


def with_points(text):
    return entries(last=[("foo-1.0.dist-info/entry_points.txt", text)])


def row(name, text, digest="sha256", size=None):
    value = base64.urlsafe_b64encode(hashlib.new(digest, text.encode()).digest()).decode().rstrip("=")
    return f"{name},{digest}={value},{len(text) if size is None else size}\n"


INIT = row("foo/__init__.py", "x = 1\n")
REST = row("foo-1.0.dist-info/METADATA", METADATA) + row("foo-1.0.dist-info/WHEEL", WHEEL) + "foo-1.0.dist-info/RECORD,,\n"
RECORDS = {
    "good": INIT + REST,
    "in CRLF": (INIT + REST).replace("\n", "\r\n"),
    "four columns in a row": "foo/__init__.py,,,x\n" + REST,
    "four columns throughout": (INIT + REST).replace("\n", ",x\n"),
    "two columns": "foo/__init__.py,\n" + REST,
    "one column": "foo/__init__.py\n" + REST,
    "an empty line": INIT + "\n" + REST,
    "an empty line at its end": INIT + REST + "\n",
    "a byte order mark": "\ufeff" + INIT + REST,
    "in latin-1": (INIT + REST).encode() + b"\xfc,,\n",
    "an open quote": INIT + REST + '"foo',
    "quotes": '"foo/__init__.py"' + INIT[15:] + REST,
    "a quote within": INIT + REST + 'a"b,,\n',
    "text after a quote": INIT + REST + '"a"b,,\n',
    "a field of 200,000 characters": INIT + REST + "x" * 200_000 + ",,\n",
    "without a file": REST,
    "with an extra file": INIT + REST + "foo/b.py,,\n",
    "a file twice": INIT + INIT + REST,
    "a wrong hash": row("foo/__init__.py", "x = 2\n") + REST,
    "a wrong size": row("foo/__init__.py", "x = 1\n", size=7) + REST,
    "a size that is not a number": row("foo/__init__.py", "x = 1\n", size="six") + REST,
    "MD5": row("foo/__init__.py", "x = 1\n", "md5") + REST,
    "padding": row("foo/__init__.py", "x = 1\n").replace(",6", "=,6") + REST,
}
SCRIPTS = "[console_scripts]\n"
ENTRY_POINTS = {
    "good": SCRIPTS + "a = foo:x\nb=foo.bar:x.y [z]\n\n# c\n[gui_scripts]\nc = foo:x\n[other]\nd = foo\n",
    "empty": "",
    "no section": "a = foo:x\n",
    "not INI": "this is not an INI file\n",
    "not INI in a section": SCRIPTS + "this is not an INI file\n",
    "not INI in another section": "[other]\nthis is not an INI file\n",
    "an open section": "[console_scripts\na = foo:x\n",
    "a comment with a semicolon": SCRIPTS + "; comment\na = foo:x\n",
    "a colon instead of the equals sign": SCRIPTS + "a: foo:x\n",
    "a folded value": SCRIPTS + "a =\n  foo:x\n",
    "a section twice": SCRIPTS + "a = foo:x\n" + SCRIPTS + "b = foo:x\n",
    "a name twice": SCRIPTS + "a = foo:x\na = foo:x\n",
    "in latin-1": SCRIPTS.encode() + b"\xfc = foo:x\n",
    "a byte order mark": "\ufeff" + SCRIPTS + "a = foo:x\n",
    "no callable": SCRIPTS + "a = foo\n",
    "no callable of a window": "[gui_scripts]\na = foo\n",
    "no callable but extras": SCRIPTS + "a = foo [x]\n",
    "an empty callable": SCRIPTS + "a = foo:\n",
    "two colons": SCRIPTS + "a = foo:x:y\n",
    "an empty value": SCRIPTS + "a =\n",
    "a dash in the module": SCRIPTS + "a = foo-bar:x\n",
    "a dash in the callable": SCRIPTS + "a = foo:x-y\n",
    "spaces at the colon": SCRIPTS + "a = foo : x\n",
    "an open bracket": SCRIPTS + "a = foo:x [y\n",
    "a relative module": SCRIPTS + "a = .foo:x\n",
    "a space in the name": SCRIPTS + "a b = foo:x\n",
    "a bracket in the name": SCRIPTS + "a[b] = foo:x\n",
    "a script that climbs": SCRIPTS + "../a = foo:x\n",
    "a script that climbs from within": SCRIPTS + "a/../../b = foo:x\n",
    "a script that climbs by a backslash": SCRIPTS + "..\\a = foo:x\n",
    "a script with a drive letter": SCRIPTS + "C:a = foo:x\n",
    "a script ..": SCRIPTS + ".. = foo:x\n",
    "a script .": SCRIPTS + ". = foo:x\n",
    "a window that climbs": "[gui_scripts]\n../a = foo:x\n",
    "another group that climbs": "[other]\n../a = foo\n",
}
REQUIREMENTS = [
    *["bar>=1", "bar (>=1)", "bar[x,y]>=1,<2; python_version<'3'", "bar>=1,", "foo >>= 1", "foo>=1.x", "foo 1"],
    *["foo>=1 <2", "foo~=1", "foo>=1.*", "foo==1.*", "foo>=1+x", "foo===x y", "", "foo; python_version", "foo[x"],
    *["foo; python_version>'3' and", "foo; bogus=='3'", "foo@", "foo @ x y", "_foo", "foo-", "foo[]", "foo ()"],
    *["foo; (python_version>'3'", "foo; os_name notin 'x'", "foo; os_name not in 'x'", "foo==1.0..0", "f\xfc"],
    *["foo; (os.name=='x' or (extra=='y'))", "foo; 'x' in os_name", "foo==1.0.post-1.dev_2+a.b", "foo===x;y"],
    "foo; " + "(" * 500 + "os_name=='x'" + ")" * 500,
]
PYTHONS = [">=3", ">=3.x", "", "3", "==3.*", "latest", ">=3;"]

KINDS = {
    "good": entries(),
    "no RECORD": entries(record=False),
    "no WHEEL": entries(wheel=None),
    "no METADATA": entries(metadata=None),
    "empty RECORD": entries(record=" "),
    "no Wheel-Version": entries(wheel="Tag: py3-none-any\n"),
    "Wheel-Version 2.0": entries(wheel=WHEEL.replace("1.0", "2.0")),
    "Wheel-Version 1.9": entries(wheel=WHEEL.replace("1.0", "1.9")),
    "Wheel-Version 1": entries(wheel=WHEEL.replace("1.0", "1")),
    "Wheel-Version x": entries(wheel=WHEEL.replace("1.0", "x")),
    "no Tag": entries(wheel="Wheel-Version: 1.0\n"),
    "another Tag": entries(wheel=WHEEL.replace("py3", "py2")),
    "another Build": entries(wheel=WHEEL + "Build: 7\n"),
    "WHEEL in latin-1": entries(wheel=(WHEEL + "X: J\xfcrgen\n").encode("latin-1")),
    "METADATA in latin-1": entries(metadata=(METADATA + "Author: J\xfcrgen\n").encode("latin-1")),
    "METADATA with a byte order mark": entries(metadata="\ufeff" + METADATA),
    "METADATA with CRLF": entries(metadata=METADATA.replace("\n", "\r\n")),
    "METADATA with an empty line first": entries(metadata="\n" + METADATA),
    "METADATA with a junk line first": entries(metadata="junk\n" + METADATA),
    "METADATA with a junk line inside": entries(metadata="Name: foo\njunk\nVersion: 1.0\n"),
    "METADATA with a nameless field": entries(metadata=": x\n" + METADATA),
    "METADATA from a mailbox": entries(metadata="From x\n" + METADATA),
    "METADATA in lower case": entries(metadata=METADATA.lower()),
    "METADATA of the future": entries(metadata=METADATA.replace("2.1", "9.0")),
    "METADATA without its version": entries(metadata="Name: foo\nVersion: 1.0\n"),
    "no Name": entries(metadata="Version: 1.0\n"),
    "no Version": entries(metadata="Name: foo\n"),
    "Name twice": entries(metadata=METADATA + "Name: bar\n"),
    "Name bar": entries(metadata=name("bar")),
    "Name FOO": entries(metadata=name("FOO")),
    "Name with a trailing space": entries(metadata=name("foo ")),
    "Version with spaces": entries(metadata=version("  1.0  ")),
    "Version folded": entries(metadata=version("\n  1.0")),
    "Version 1.0.0": entries(metadata=version("1.0.0")),
    "Version 2.0": entries(metadata=version("2.0")),
    "Version 1.0+cu1": entries(metadata=version("1.0+cu1")),
    "Version latest": entries(metadata=version("latest")),
    "Requires-Python >=3.x": entries(metadata=METADATA + "Requires-Python: >=3.x\n"),
    "folder of version 2.0": entries(folder="foo-2.0.dist-info"),
    "folder of version 1.0.0": entries(folder="Foo-1.0.0.dist-info"),
    "folder of bar": entries(folder="bar-1.0.dist-info"),
    "folder of foobar": entries(folder="foobar-1.0.dist-info"),
    "folder without a version": entries(folder="foo.dist-info"),
    "no folder": [("foo/__init__.py", "x = 1\n")],
    "two folders": extra("bar-1.0.dist-info/METADATA"),
    "a file x.dist-info": extra("x.dist-info"),
    "a folder further down": extra("foo/bar-1.0.dist-info/METADATA"),
    "an entry for the folder": entries(first=[("foo-1.0.dist-info/", "")]),
    "a file twice": extra("foo/a.py", "foo/a.py"),
    "METADATA twice, the last right": entries(first=[("foo-1.0.dist-info/METADATA", version("2.0"))]),
    "METADATA twice, the last wrong": entries(last=[("foo-1.0.dist-info/METADATA", name("bar"))]),
    "a climbing entry": extra("../evil.py"),
    "an entry climbing from within": extra("foo/../../evil.py"),
    "an entry climbing within": extra("foo/../evil.py"),
    "an absolute entry": extra("/evil.py"),
    "an entry with a dot": extra("./foo/a.py"),
    "an entry of data": extra("foo-1.0.data/scripts/a"),
    "an entry of unknown data": extra("foo-1.0.data/bogus/a"),
    "an entry directly in the data folder": extra("foo-1.0.data/a"),
    "a climbing entry of data": extra("foo-1.0.data/scripts/../../../../../evil.py"),
    "an entry of data of bar": extra("bar-1.0.data/purelib/a"),
    "an entry of unknown data of bar": extra("bar-1.0.data/bogus/a"),
    "an entry with a backslash": extra("foo\\a.py"),
    "an entry with a climbing backslash": extra("..\\evil.py"),
    "an entry with a drive letter": extra("C:/evil.py"),
    **{f"RECORD: {kind}": entries(record=rows) for kind, rows in RECORDS.items()},
    **{f"entry points: {kind}": with_points(text) for kind, text in ENTRY_POINTS.items()},
    **{f"Requires-Dist: {text[:40]}": entries(metadata=f"{METADATA}Requires-Dist: {text}\n") for text in REQUIREMENTS},
    **{f"Requires-Python: {text}": entries(metadata=f"{METADATA}Requires-Python: {text}\n") for text in PYTHONS},
    "a file that is a folder": extra("demo/a", "demo/a/b"),
    "a folder that is a file": extra("demo/a/b", "demo/a"),
    "a file that is a folder of data": extra("demo/a", "foo-1.0.data/purelib/demo/a/b"),
    "a file that is a folder by a dot": extra("demo/./a", "demo//a/b"),
    "a file beside the entry of a folder": extra("demo/a/", "demo/a"),
    "a file of another case than a folder": extra("demo/A", "demo/a/b"),
    "a file twice by a dot": extra("foo/./a.py", "foo/a.py"),
    "a file twice by two slashes": extra("foo//a.py", "foo/a.py"),
    "a name of 256 bytes": extra("foo/" + "x" * 256),
    "a name of 255 bytes": extra("foo/" + "x" * 255),
    "a path of 5,000 bytes": extra("foo/" * 1250 + "x"),
    "an entry in UTF-8": extra("foo/\xfc\u540d.py"),
}
FILES = {
    "Name Foo.Bar": ("foo_bar-1.0-py3-none-any.whl", entries(folder="foo_bar-1.0.dist-info", metadata=name("Foo.Bar"))),
    "filename 1.0+cu1": ("foo-1.0+cu1-py3-none-any.whl", entries()),
    "filename 1.0.0": ("foo-1.0.0-py3-none-any.whl", entries()),
    "filename with a build tag": ("foo-1.0-7-py3-none-any.whl", entries()),
}
BYTES = {
    "trailing bytes": lambda whole: whole + b"x" * 100,
    "70,000 trailing bytes": lambda whole: whole + b"x" * 70_000,
    "leading bytes": lambda whole: b"#!/bin/sh\n" + whole,
    "a truncated comment": lambda whole: whole[:-2] + b"\x05\x00",
    "a wrong number of entries": lambda whole: whole[:-12] + b"\x01\x00" + whole[-10:],
    "a zip64 field of the wrong length": lambda whole: stale_zip64(whole),
    "an entry with a wrong checksum": lambda whole: whole.replace(crc(b"x = 1\n"), crc(b"x = 2\n")),
    "an entry with a wrong size": lambda whole: resize(whole, 5),
    "an entry with a size that is too large": lambda whole: resize(whole, 7),
    "an entry with damaged data": lambda whole: whole.replace(b"\xabP\xb0U0\xe4\x02\x00", b"\xabP\xb0U1\xe4\x02\x00"),
    "an encrypted entry": lambda whole: encrypt(whole),
    "an entry of an unknown compression": lambda whole: recompress(whole, 98),
    "an entry in bzip2": lambda whole: rewrite(whole, zipfile.ZIP_BZIP2, "foo/__init__.py"),
    "an entry in LZMA": lambda whole: rewrite(whole, zipfile.ZIP_LZMA, "foo/__init__.py"),
    "METADATA in bzip2": lambda whole: rewrite(whole, zipfile.ZIP_BZIP2, "foo-1.0.dist-info/METADATA"),
    "WHEEL in LZMA": lambda whole: rewrite(whole, zipfile.ZIP_LZMA, "foo-1.0.dist-info/WHEEL"),
    "RECORD in LZMA": lambda whole: rewrite(whole, zipfile.ZIP_LZMA, "foo-1.0.dist-info/RECORD"),
}


def crc(data):
    return zlib.crc32(data).to_bytes(4, "little")


def resize(whole, size):
    sizes = (8).to_bytes(4, "little") + (6).to_bytes(4, "little")
    assert whole.count(crc(b"x = 1\n") + sizes) == 2
    return whole.replace(crc(b"x = 1\n") + sizes, crc(b"x = 1\n") + sizes[:4] + size.to_bytes(4, "little"))


def stale_zip64(whole):
    """Keeps the zip64 fields of the old directory, as `wheel tags` before wheel 0.48 does for archives above 4 GiB."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(written, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            entry.extra = struct.pack("<HHQ", 1, 8, entry.header_offset)
            new.writestr(entry, data)
    return written.getvalue()


def encrypt(whole):
    at = whole.index(b"PK\x01\x02")
    return whole[: at + 8] + bytes([whole[at + 8] | 1]) + whole[at + 9 :]


def recompress(whole, method):
    at = whole.index(b"PK\x01\x02")
    return whole[: at + 10] + bytes([method, 0]) + whole[at + 12 :]


def rewrite(whole, method, name):
    """Rewrites the archive with another compression method for one entry."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            new.writestr(entry.filename, old.read(entry), method if entry.filename == name else None)
    return written.getvalue()


def make(folder, filename, found, change=bytes):
    path = pathlib.Path(folder, filename)
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in found:
            archive.writestr(name, text)
    path.write_bytes(change(path.read_bytes()))
    return str(path)


def install(*what):
    with tempfile.TemporaryDirectory() as into:
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            status = main(
                ["--isolated", "--quiet", "--quiet", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
                + ["install", "--no-deps", "--no-index", "--no-compile", "--target", into, *what]
            )
    return status == 0


def install_by_uv(path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("UV_")}
    with tempfile.TemporaryDirectory() as into:
        command = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--no-config", "--no-deps", "--no-index"]
        command += ["--offline", "--no-cache", "--python", sys.executable, "--target", into, path]
        return subprocess.run(command, env=env, capture_output=True).returncode == 0


def try_installs(path):
    project = os.path.basename(path).split("-")[0]
    return {
        "path": path,
        "byPath": install(path),
        "byName": install("--find-links", os.path.dirname(path), project),
        "byUv": install_by_uv(path),
    }


root = json.load(sys.stdin)
wheels = [(kind, PLAIN, found, bytes) for kind, found in KINDS.items()]
wheels += [(kind, filename, found, bytes) for kind, (filename, found) in FILES.items()]
wheels += [(kind, PLAIN, entries(), change) for kind, change in BYTES.items()]
json.dump(
    {
        "pip": pip.__version__,
        "usesPkgResources": sys.version_info < (3, 11),
        "kinds": {
            kind: try_installs(make(os.path.join(root, str(number)), filename, found, change))
            for number, (kind, filename, found, change) in enumerate(wheels)
        },
    },
    sys.stdout,
)
