#!/usr/bin/env python3
"""Checks every column of the Star Schema Benchmark's data against what the specification says of it.

usage: check_star.py TG_DUMP [SF]
The calendar is Python's own; orders and lines are compared with those of TPC-H at the same scale factor,
of which lineorder is the join.  Exit status 0 if all agree.
"""
import datetime
import subprocess
import sys
import tempfile
from pathlib import Path

NATIONS = {
    "AFRICA": ("ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"),
    "AMERICA": ("ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"),
    "ASIA": ("INDIA", "INDONESIA", "JAPAN", "CHINA", "VIETNAM"),
    "EUROPE": ("FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"),
    "MIDDLE EAST": ("EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"),
}
REGION = {nation: region for region, nations in NATIONS.items() for nation in nations}
SEASONS = ["Winter"] * 3 + ["Spring"] + ["Summer"] * 4 + ["Fall"] * 2 + ["Christmas"] * 2
HOLIDAYS = ((1, 1), (7, 4), (11, 11), (12, 25))


class Data:
    def __init__(self, dump, flags, sf):
        with tempfile.TemporaryDirectory(prefix="tg_") as folder:
            subprocess.run([dump, *flags, "-s", sf, "-t", "2", folder], check=True)
            self.tables = {p.stem: [line.split("|")[:-1] for line in p.read_text().splitlines()]
                           for p in Path(folder).glob("*.tbl")}


def expect(what, found, expected):
    if found != expected:
        raise SystemExit(f"{what}: {found}, expected {expected}")


def day_row(day):
    of_year = day.timetuple().tm_yday
    weekday = day.isoweekday() % 7 + 1  # Sunday is 1
    tomorrow = day + datetime.timedelta(1)
    return [f"{day:%Y%m%d}", f"{day:%B} {day.day}, {day.year}", f"{day:%A}", f"{day:%B}", str(day.year), f"{day:%Y%m}",
            f"{day:%b%Y}", str(weekday), str(day.day), str(of_year), str(day.month), str((of_year + 6) // 7),
            SEASONS[day.month - 1], str(int(weekday == 7)), str(int(tomorrow.month != day.month)),
            str(int((day.month, day.day) in HOLIDAYS)), str(int(weekday not in (1, 7)))]


def check_dates(rows):
    expect("days", len(rows), 2556)
    for i, row in enumerate(rows):
        expect(f"day {i}", row, day_row(datetime.date(1992, 1, 1) + datetime.timedelta(i)))


def check_party(what, rows, kind):
    for key, row in enumerate(rows, 1):
        name, address, city, nation, region, phone = row[1:7]
        expect(f"{what} {key}", row[:2], [str(key), f"{kind}#{key:09}"])
        expect(f"region of {what} {key}", region, REGION[nation])
        expect(f"city of {what} {key}", (city[:9], len(city), city[9].isdigit()), (f"{nation[:9]:<9}", 10, True))
        expect(f"address of {what} {key}", 10 <= len(address) <= 25, True)
        expect(f"phone of {what} {key}", [len(part) for part in phone.split("-")], [2, 3, 3, 4])


def check_parts(rows):
    for key, (partkey, name, mfgr, category, brand, color, kind, size, container) in enumerate(rows, 1):
        expect("part", partkey, str(key))
        expect(f"maker of part {key}",
               (mfgr[:5], mfgr[5:] in "12345", category[:6], category[6:] in "12345", brand[:7]),
               ("MFGR#", True, mfgr, True, category))
        expect(f"brand of part {key}", 1 <= int(brand[7:]) <= 40 and brand[7] != "0", True)
        words = name.split(" ")
        expect(f"name of part {key}", (len(words), color in words, len(name) <= 22), (2, False, True))
        expect(f"type of part {key}", (len(kind.split(" ")), 1 <= int(size) <= 50, len(container.split(" "))),
               (3, True, 2))


def cents(text):
    return int(text.replace(".", ""))


def line_row(order, line, part, supplier, customer, total):
    """lineorder from TPC-H's orders and lineitem; keys of scaled tables are the row's own."""
    quantity, discount, tax = int(line[4]), cents(line[6]), cents(line[7])
    retail = 90000 + part // 10 % 20001 + 100 * (part % 1000)
    price = quantity * retail
    return [order[0], line[3], customer, str(part), supplier, order[4].replace("-", ""), order[5], order[7],
            str(quantity), str(price), total, str(discount), str(price * (100 - discount) // 100), str(6 * retail // 10), str(tax),
            line[11].replace("-", ""), line[14]]


def check_lines(star, tpch):
    """Parts are as many as in TPC-H up to scale factor 1; there are fewer suppliers and customers."""
    orders = {row[0]: row for row in tpch["orders"]}
    customers = {}
    expect("lines", len(star["lineorder"]), len(tpch["lineitem"]))
    for row, line in zip(star["lineorder"], tpch["lineitem"]):
        order = orders[line[0]]
        expect("line", row, line_row(order, line, int(line[1]), row[4], row[2], str(cents(order[3]))))
        expect("customer of an order", customers.setdefault(row[0], row[2]), row[2])
        expect("keys", 1 <= int(row[4]) <= len(star["supplier"]) and 1 <= int(row[2]) <= len(star["customer"]), True)
        expect("customers with a key that 3 divides", int(row[2]) % 3 != 0, True)
    expect("suppliers with lines", len({row[4] for row in star["lineorder"]}), len(star["supplier"]))


def main():
    dump, sf = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "0.01"
    star, tpch = Data(dump, ["-b"], sf).tables, Data(dump, [], sf).tables
    check_dates(star["date"])
    check_party("supplier", star["supplier"], "Supplier")
    check_party("customer", star["customer"], "Customer")
    check_parts(star["part"])
    check_lines(star, tpch)
    print(", ".join(f"{len(rows)} {table}" for table, rows in sorted(star.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
