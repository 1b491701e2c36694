"""What packaging and pip make of sdists: a JSON object of names and paths in, a verdict for each out."""

import json
import os
import sys
import tarfile
import tempfile
import zlib

from packaging.utils import InvalidSdistFilename, canonicalize_name, parse_sdist_filename
from pip._internal.exceptions import InstallationError
from pip._internal.utils.unpacking import untar_file


def read_name(filename):
    try:
        project, version = parse_sdist_filename(filename)
    except InvalidSdistFilename:
        return None
    return {"project": canonicalize_name(project), "version": str(version)}


def unpacks(path):
    """Whether pip unpacks the archive, with everything in the folder that it unpacks to."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            untar_file(path, folder)
        except (InstallationError, OSError, EOFError, ValueError, tarfile.TarError, zlib.error):
            return False
        return os.path.exists(os.path.join(folder, "PKG-INFO"))


question = json.load(sys.stdin)
json.dump(
    {
        "names": [read_name(name) for name in question["names"]],
        "archives": [unpacks(path) for path in question["archives"]],
    },
    sys.stdout,
)
