#!/usr/bin/env python3
"""Trades and quotes of a few symbols for trades.json: text files that `heddle load` takes.

Usage: make.py DIR [--trades N] [--quotes N] [--symbols N] [--seed N]

With the default numbers the rows are those of tests/e2e/trades.txt.
"""
import argparse
import datetime
import json
import random
from pathlib import Path

OPENS = datetime.datetime(2026, 3, 2, 9, 30)
COLUMNS = {"trade": [("traded", "timestamp"), ("symbol", "string"), ("shares", "int32"), ("price", "decimal(9,2)")],
           "quote": [("quoted", "timestamp"), ("q_symbol", "string"), ("bid", "decimal(9,2)")]}


def name(number):
    """A, B .. Z, AA, AB .."""
    letters = ""
    while number >= 0:
        letters = chr(ord("A") + number % 26) + letters
        number = number // 26 - 1
    return letters


def rows(draw, n, symbols):
    """(time, symbol, price) in the order of time, prices as walks."""
    cents = {s: 2000 + s * 1711 % 18000 for s in range(symbols)}
    times = sorted(draw.randrange(23_400_000) for _ in range(n))  # ms of a day of 6.5 hours
    for ms in times:
        s = draw.randrange(symbols)
        cents[s] = max(100, cents[s] + draw.randrange(-15, 16))
        at = (OPENS + datetime.timedelta(milliseconds=ms)).isoformat(" ", "milliseconds")
        yield at, name(s), f"{cents[s] // 100}.{cents[s] % 100:02}"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder", type=Path)
    p.add_argument("--trades", type=int, default=8)
    p.add_argument("--quotes", type=int, default=12)
    p.add_argument("--symbols", type=int, default=3)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()
    draw = random.Random(args.seed)
    args.folder.mkdir(parents=True, exist_ok=True)
    schema = {"format": {"delimiter": "|", "header": False, "null": "", "trailing_delimiter": False},
              "tables": [{"name": t, "columns": [{"name": c, "type": k} for c, k in columns]}
                         for t, columns in COLUMNS.items()]}
    (args.folder / "schema.json").write_text(json.dumps(schema))
    with open(args.folder / "quote.tbl", "w") as f:
        f.writelines(f"{at}|{symbol}|{price}\n" for at, symbol, price in rows(draw, args.quotes, args.symbols))
    with open(args.folder / "trade.tbl", "w") as f:
        f.writelines(f"{at}|{symbol}|{draw.randrange(1, 10) * 100}|{price}\n"
                     for at, symbol, price in rows(draw, args.trades, args.symbols))


if __name__ == "__main__":
    main()
