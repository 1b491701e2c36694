"""Parses the header fields of texts with Python's email parser, which pip and packaging use."""

import email
import json
import sys


def fields(text):
    found = {}
    for name, value in email.message_from_string(text).items():
        found.setdefault(name.lower(), []).append(str(value))
    return found


json.dump([fields(text) for text in json.load(sys.stdin)], sys.stdout)
