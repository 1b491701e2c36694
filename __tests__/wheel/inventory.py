"""Prints what zipfile says that a wheel is made of: its files, their bytes, the ten that take most of it."""

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
