"""How packaging orders pairs of versions, and whether pip's check of Requires-Python allows interpreters."""

import json
import sys

import packaging
from packaging.version import InvalidVersion, Version
from pip._internal.utils.packaging import check_requires_python
from pip._vendor.packaging.specifiers import InvalidSpecifier


def order(pair):
    try:
        one, other = map(Version, pair)
    except InvalidVersion:
        return None
    return (one > other) - (one < other)


def allows(question):
    requires_python, version = question
    try:
        return check_requires_python(requires_python, tuple(map(int, version.split("."))))
    except InvalidSpecifier:
        # package_finder._check_link_requires_python and BaseDistribution.requires_python ignore it.
        return True


questions = json.load(sys.stdin)
json.dump(
    {
        "packaging": packaging.__version__,
        "orders": [order(pair) for pair in questions["pairs"]],
        "allows": [allows(question) for question in questions["requirements"]],
    },
    sys.stdout,
)
