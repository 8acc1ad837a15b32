"""The function hash and the estimate of approx_count_distinct, by their definitions (docs/functions.md)."""

import datetime
import struct
from decimal import Decimal

from hdparams import from_bytes_form

MASK = (1 << 64) - 1
SEED, NULL = 0x9E3779B97F4A7C15, 0xA0761D6478BD642F
REGISTERS = 4096


def word(h, w):
    """One word more: the finalizer of MurmurHash3."""
    h ^= w & MASK
    h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & MASK
    h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return h ^ h >> 33


def integer(h, v):
    h = word(h, v)
    return h if -(1 << 63) <= v < 1 << 63 else word(h, v >> 64)


def more(h, v, kind):
    """v as Python has it: decimals as the integers of their digits."""
    if v is None:
        return word(h, NULL)
    if kind.startswith("float"):
        bits = 0 if v == 0 else 0x7FF8000000000000 if v != v else struct.unpack("<Q", struct.pack("<d", v))[0]
        return word(h, bits)
    if kind in ("string", "binary"):
        data = v if isinstance(v, bytes) else v.encode()
        h = word(h, len(data))
        for k in range(0, len(data), 8):
            h = word(h, int.from_bytes(data[k:k + 8], "little"))
        return h
    if kind == "date":
        v = (v - datetime.date(1970, 1, 1)).days
    if kind == "timestamp":
        v = (v - datetime.datetime(1970, 1, 1)) // datetime.timedelta(microseconds=1)
    return integer(h, int(v))


def hash_of(values, kinds):
    h = SEED
    for v, kind in zip(values, kinds):
        h = more(h, v, kind)
    return h - (1 << 64) if h >> 63 else h


def estimate(hashes):
    """Ertl's, of registers with the largest rank of the upper 52 bits each."""
    words = {}
    for h in {h & MASK for h in hashes}:
        words[h % REGISTERS] = min(words.get(h % REGISTERS, MASK), h >> 12)
    if not words:
        return 0
    x, y, before = (REGISTERS - len(words)) / REGISTERS, 1.0, -1.0
    empty = x
    while empty != before:
        before, x = empty, x * x
        empty, y = empty + x * y, y + y
    ranks = sum(2 ** w.bit_length() for w in words.values()) / 2 ** 53
    return int(0.7213475204444817 * REGISTERS * REGISTERS / (ranks + REGISTERS * empty) + 0.5)


# ---- of texts, as the oracle has them ------------------------------------------------------------------------------------


def value_of(text, kind):
    if text is None:
        return None
    if kind == "float":
        return float(text)
    if kind == "string":
        return from_bytes_form(text).encode("utf-8", "surrogateescape")
    if kind == "binary":
        return bytes.fromhex(text)
    if kind == "date":
        return datetime.date.fromisoformat(text)
    if kind == "timestamp":
        return datetime.datetime.fromisoformat(text)
    return int(Decimal(text).scaleb(int(kind)))  # digits behind the point


def hash_texts(texts, kinds):
    kinds = kinds.split(",")
    return hash_of([value_of(t, k) for t, k in zip(texts, kinds)], kinds)


def estimated(hashes):
    return estimate(hashes or [])
