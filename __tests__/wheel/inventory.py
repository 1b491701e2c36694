"""Prints the inventory of a wheel according to zipfile: number of files, total size, the ten largest."""

import json
import sys
import zipfile

with zipfile.ZipFile(json.load(sys.stdin)) as archive:
    files = [info for info in archive.infolist() if not info.is_dir()]
largest = sorted(files, key=lambda info: -info.compress_size)[:10]
print(
    json.dumps(
        {
            "files": len(files),
            "unpackedSize": sum(info.file_size for info in files),
            "largest": [
                {"name": info.filename, "compressedSize": info.compress_size, "size": info.file_size}
                for info in largest
            ],
        }
    )
)
