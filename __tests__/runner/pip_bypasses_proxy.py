"""Which requests pip sends past a proxy: reads rows of NO_PROXY and URL, prints a list of booleans."""

import json
import os
import sys

from pip._vendor.requests.utils import should_bypass_proxies

for name in list(os.environ):
    if name.lower().endswith("_proxy"):
        del os.environ[name]
rows = json.load(sys.stdin)
print(json.dumps([bool(should_bypass_proxies(url, no_proxy)) for no_proxy, url, *_ in rows]))
