"""
Makes wheels that are wrong in one way each, and asks pip to install them: a folder in, {kind: {...}} out.

Each is installed twice, by its path and by its project's name with the folder as the only place to find it.
"""

import contextlib
import io
import json
import os
import pathlib
import sys
import tempfile
import warnings
import zipfile

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
    "METADATA with a line of none first": entries(metadata="junk\n" + METADATA),
    "METADATA with a line of none within": entries(metadata="Name: foo\njunk\nVersion: 1.0\n"),
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
    "Name with a space behind": entries(metadata=name("foo ")),
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
    "folder of no version": entries(folder="foo.dist-info"),
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
    "an entry of no data": extra("foo-1.0.data/a"),
    "a climbing entry of data": extra("foo-1.0.data/scripts/../../../../../evil.py"),
    "an entry of data of bar": extra("bar-1.0.data/purelib/a"),
    "an entry of unknown data of bar": extra("bar-1.0.data/bogus/a"),
    "an entry with a backslash": extra("foo\\a.py"),
    "an entry with a climbing backslash": extra("..\\evil.py"),
    "an entry with a drive": extra("C:/evil.py"),
    "an entry in UTF-8": extra("foo/\xfc\u540d.py"),
}
FILES = {
    "Name Foo.Bar": ("foo_bar-1.0-py3-none-any.whl", entries(folder="foo_bar-1.0.dist-info", metadata=name("Foo.Bar"))),
    "filename 1.0+cu1": ("foo-1.0+cu1-py3-none-any.whl", entries()),
    "filename 1.0.0": ("foo-1.0.0-py3-none-any.whl", entries()),
    "filename with a build tag": ("foo-1.0-7-py3-none-any.whl", entries()),
}
BYTES = {
    "bytes behind": lambda whole: whole + b"x" * 100,
    "70,000 bytes behind": lambda whole: whole + b"x" * 70_000,
    "bytes before": lambda whole: b"#!/bin/sh\n" + whole,
    "a cut comment": lambda whole: whole[:-2] + b"\x05\x00",
    "another count of entries": lambda whole: whole[:-12] + b"\x01\x00" + whole[-10:],
    "an encrypted entry": lambda whole: encrypt(whole),
    "an entry of an unknown compression": lambda whole: recompress(whole, 98),
}


def encrypt(whole):
    at = whole.index(b"PK\x01\x02")
    return whole[: at + 8] + bytes([whole[at + 8] | 1]) + whole[at + 9 :]


def recompress(whole, method):
    at = whole.index(b"PK\x01\x02")
    return whole[: at + 10] + bytes([method, 0]) + whole[at + 12 :]


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
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = main(
                ["--isolated", "--quiet", "--quiet", "--quiet", "--disable-pip-version-check", "--no-cache-dir"]
                + ["install", "--no-deps", "--no-index", "--no-compile", "--target", into, *what]
            )
    return status == 0


def ask(path):
    project = os.path.basename(path).split("-")[0]
    return {"path": path, "byPath": install(path), "byName": install("--find-links", os.path.dirname(path), project)}


root = json.load(sys.stdin)
wheels = [(kind, PLAIN, found, bytes) for kind, found in KINDS.items()]
wheels += [(kind, filename, found, bytes) for kind, (filename, found) in FILES.items()]
wheels += [(kind, PLAIN, entries(), change) for kind, change in BYTES.items()]
json.dump(
    {
        "pip": pip.__version__,
        "usesPkgResources": sys.version_info < (3, 11),
        "kinds": {
            kind: ask(make(os.path.join(root, str(number)), filename, found, change))
            for number, (kind, filename, found, change) in enumerate(wheels)
        },
    },
    sys.stdout,
)
