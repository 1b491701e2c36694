"""Writes wheels with Python's zipfile: one for each compression method, one to a pipe, one with many entries.

Reads the path of a folder as JSON from stdin, and prints the paths of the wheels by kind.
"""

import json
import pathlib
import sys
import zipfile

NAME = "foo-1.0-py3-none-any.whl"
# Long enough for several blocks and back-references, and compressible, so that no method just stores it.
METADATA = "Metadata-Version: 2.1\nName: foo\nVersion: 1.0\n\n" + "".join(
    f"{number} {number * number % 9973} \u540d\U0001d7d9\n" for number in range(40_000)
)
FILES = {
    "foo/__init__.py": "",
    "foo-1.0.dist-info/METADATA": METADATA,
    "foo-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "foo-1.0.dist-info/RECORD": "foo/__init__.py,,\n",
}
COMPRESSIONS = {
    "stored": zipfile.ZIP_STORED,
    "deflate": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}
if hasattr(zipfile, "ZIP_ZSTANDARD"):
    COMPRESSIONS["zstd"] = zipfile.ZIP_ZSTANDARD


class Pipe:
    """A file that cannot seek, for which zipfile writes the sizes after the data."""

    def __init__(self, file):
        self._file = file

    def write(self, data):
        return self._file.write(data)

    def flush(self):
        self._file.flush()


def make(kind, compression, more=(), piped=False):
    path = pathlib.Path(root, kind, NAME)
    path.parent.mkdir()
    with open(path, "wb") as file:
        with zipfile.ZipFile(Pipe(file) if piped else file, "w", compression) as archive:
            for name, text in [*FILES.items(), *more]:
                archive.writestr(name, text)
    return str(path)


root = json.load(sys.stdin)
paths = {kind: make(kind, compression) for kind, compression in COMPRESSIONS.items()}
paths["piped"] = make("piped", zipfile.ZIP_DEFLATED, piped=True)
many = [(f"foo/{number}.py", "#" * (number * 7919 % 61)) for number in range(70_000)]
paths["many"] = make("many", zipfile.ZIP_STORED, [("foo/", ""), *many])
json.dump(paths, sys.stdout)
