"""
How Python reads a wheel with one changed byte: {path: [[offset, value], ...]} in, verdicts out.

A verdict is null if pip cannot read the wheel, or if the header of any entry is damaged, or (for small wheels only) its
data; otherwise it is the wheel's version, tags and number of entries.
"""

import email
import io
import json
import os
import sys
import warnings
import zipfile

from pip._internal.utils.wheel import parse_wheel
from pip._vendor.packaging.utils import canonicalize_name, parse_wheel_filename
from pip._vendor.packaging.version import Version

SMALL = 300_000
warnings.simplefilter("ignore")


class Flipped(io.RawIOBase):
    """A file with one changed byte."""

    def __init__(self, file, offset, value):
        self._file, self._offset, self._value = file, offset, value

    def readable(self):
        return True

    def seekable(self):
        return True

    def seek(self, *args):
        return self._file.seek(*args)

    def tell(self):
        return self._file.tell()

    def readinto(self, target):
        start = self._file.tell()
        count = self._file.readinto(target)
        if start <= self._offset < start + count:
            target[self._offset - start] = self._value
        return count


def read(stream, filename, size):
    project, version, _, _ = parse_wheel_filename(filename)
    with zipfile.ZipFile(stream) as archive:
        for entry in archive.infolist():
            archive.open(entry).close()
        if size <= SMALL and archive.testzip() is not None:
            return None
        folder, wheel = parse_wheel(archive, project)
        metadata = email.message_from_string(archive.read(f"{folder}/METADATA").decode())
        archive.read(f"{folder}/RECORD")
        names = archive.namelist()
    if canonicalize_name(metadata["Name"]) != project or Version(metadata["Version"]).public != version.public:
        return None
    return {"version": metadata["Version"], "tags": wheel.get_all("Tag", []), "names": len(names)}


def judge(path, flips):
    verdicts = []
    with open(path, "rb") as file:
        for offset, value in flips:
            stream = io.BufferedReader(Flipped(file, offset, value), 1 << 16)
            file.seek(0)
            try:
                verdicts.append(read(stream, os.path.basename(path), os.path.getsize(path)))
            except Exception:
                verdicts.append(None)
            finally:
                stream.detach()
    return verdicts


json.dump({path: judge(path, flips) for path, flips in json.load(sys.stdin).items()}, sys.stdout)
