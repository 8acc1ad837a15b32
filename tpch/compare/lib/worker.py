"""Runs SQL in DuckDB for tpch/compare/duckdb.py, in a process of its own so that its memory can be measured.

Usage: worker.py FILE THREADS     (a DuckDB file)
Reads one JSON object a line, {"sql": text, "repeat": n, "timeout": seconds or null}, and answers each with one line:
{"ms": [wall time of each run, result fetched], "rows": n, "rss_kb": peak resident size meanwhile}. A run that takes
longer than the timeout is interrupted, and the answer is {"timeout": seconds}.
The first line it writes describes itself.
"""

import json
import sys
import threading
import time


def reset_peak():
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass  # the peak is then that of the whole process


def peak_kb():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM"))


def timed(connection, sql):
    start = time.perf_counter()
    connection.execute(sql)
    rows = connection.fetchnumpy()
    elapsed = (time.perf_counter() - start) * 1000
    return elapsed, len(next(iter(rows.values())))


def answer(connection, job, interrupted):
    limit = job.get("timeout")
    runs = []
    for _ in range(job["repeat"]):
        timer = threading.Timer(limit, connection.interrupt) if limit else None
        if timer:
            timer.start()
        try:
            runs.append(timed(connection, job["sql"]))
        except interrupted:
            return {"timeout": limit}
        finally:
            if timer:
                timer.cancel()
    return {"ms": [ms for ms, _ in runs], "rows": runs[-1][1], "rss_kb": peak_kb()}


def main():
    import duckdb
    connection = duckdb.connect(sys.argv[1], read_only=True)
    connection.execute(f"set threads = {int(sys.argv[2])}")
    print(json.dumps({"version": duckdb.__version__, "rss_kb": peak_kb()}), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        reset_peak()
        print(json.dumps(answer(connection, job, duckdb.InterruptException)), flush=True)


def load():
    """worker.py --load FILE SOURCE SUITE: makes the DuckDB file from .tbl or .parquet."""
    import duckdb
    import suite
    connection = duckdb.connect(sys.argv[2])
    suite.load_duckdb(connection, sys.argv[3], suite.Suite(suite.TPCH.parent / sys.argv[4]).tables())
    connection.close()


if __name__ == "__main__":
    load() if sys.argv[1] == "--load" else main()
