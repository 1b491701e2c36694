"""How packaging parses filenames: a JSON list of names in, a list of verdicts out (null: refused)."""

import json
import sys

import packaging
from packaging.utils import InvalidWheelFilename, parse_wheel_filename


def judge(name):
    try:
        project, version, build, tags = parse_wheel_filename(name)
    except InvalidWheelFilename:
        return None
    return {
        "project": project,
        "version": str(version),
        "local": version.local,
        "build": [str(build[0]), build[1]] if build else None,
        "tags": sorted(str(tag) for tag in tags),
    }


json.dump(
    {"packaging": packaging.__version__, "verdicts": [judge(name) for name in json.load(sys.stdin)]},
    sys.stdout,
)
