"""Runs commands one by one and measures them: a line of JSON in, a line of JSON out.

In:  {"argv": [...], "env": {...}, "cwd": "..."}
Out: {"code": 0, "seconds": 1.25, "cpu": 0.9, "peak": 48.1}    (peak in MiB, of the largest process)
"""

import json
import os
import resource
import subprocess
import sys
import time

for line in sys.stdin:
    job = json.loads(line)
    with open(os.devnull, "rb") as nothing, open(job.get("log", os.devnull), "wb") as log:
        before = time.perf_counter()
        process = subprocess.Popen(
            job["argv"], env=job["env"], cwd=job["cwd"], stdin=nothing, stdout=log, stderr=log
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - before
    result = {
        "code": os.waitstatus_to_exitcode(status),
        "seconds": seconds,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss / (1024 * 1024 if sys.platform == "darwin" else 1024),
    }
    print(json.dumps(result), flush=True)
