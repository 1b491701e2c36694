"""What Python's zipfile and packaging's metadata parser read from wheels: a JSON list of paths in."""

import email
import json
import sys
import zipfile

import packaging
from packaging.metadata import parse_email
from packaging.tags import parse_tag


def read(path):
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        files = [entry for entry in archive.infolist() if not entry.is_dir()]
        [folder] = {name.split("/")[0] for name in names if name.split("/")[0].endswith(".dist-info")}
        raw, _ = parse_email(archive.read(f"{folder}/METADATA"))
        wheel = email.message_from_bytes(archive.read(f"{folder}/WHEEL"))
    tags = {str(tag) for line in wheel.get_all("Tag", []) for tag in parse_tag(line)}
    # The sort is stable, so files of the same size stay in order.
    files.sort(key=lambda entry: -entry.compress_size)
    largest = [
        {"name": entry.filename, "compressedSize": entry.compress_size, "size": entry.file_size}
        for entry in files[:10]
    ]
    return {
        "inventory": {
            "files": len(files),
            "unpackedSize": sum(entry.file_size for entry in files),
            "largest": largest,
        },
        "project": raw["name"],
        "version": raw["version"],
        "requiresPython": raw.get("requires_python"),
        "tags": sorted(tags),
        "entries": len(names),
    }


json.dump(
    {"packaging": packaging.__version__, "wheels": [read(path) for path in json.load(sys.stdin)]}, sys.stdout
)
