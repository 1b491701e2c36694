"""Writes a wheel of about the given size, with incompressible data: make_wheel.py BYTES PATH"""

import os
import sys
import zipfile

size, path = int(sys.argv[1]), sys.argv[2]
name, version, *_ = os.path.basename(path).split("-")
info = f"{name}-{version}.dist-info"
block = os.urandom(1 << 20)
with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as wheel:
    wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: bench\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    with wheel.open(zipfile.ZipInfo(f"{name}/data.bin"), "w", force_zip64=True) as data:
        for start in range(0, size, len(block)):
            # All blocks differ, so that deduplication does not help.
            data.write((start.to_bytes(8, "big") + block[8:])[: size - start])
    wheel.writestr(f"{info}/RECORD", "")
