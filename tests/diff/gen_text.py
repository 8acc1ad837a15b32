"""Random expressions of strings, and patterns of them."""

from fractions import Fraction

from gen_data import FOREIGN, WORDS
from gen_value import lit
from hdtypes import BINARY, BOOL, DATE, INT64, STRING, TIMESTAMP


class TextGen:
    """A part of ExprGen."""

    def string(self, depth):
        c = self.pick(lambda t: t == STRING)
        shape = self.rng.random()
        if depth <= 0 or shape < 0.5:
            if c and self.rng.random() < 0.85:
                return c
            return self.constant(self.rng.choice(WORDS + FOREIGN), STRING)
        if shape < 0.6:
            return self.piece(self.string(depth - 1))
        if shape < 0.66:
            return self.characters(self.string(depth - 1))
        if shape < 0.72:
            return self.written(self.string(depth - 1))
        if shape < 0.85:
            return self.choice([self.string(depth - 1) for _ in range(2)], depth)
        if shape < 0.87:
            s = self.string(depth - 1) if self.rng.random() < 0.3 else self.binary(depth - 1)
            if s.ascii: # of others the oracle's database holds another form
                return self.make("hex", STRING, [s])
        x = self.rng.choice([self.number, self.day, self.moment, self.clock, self.boolean])(depth - 1)
        if x.type in (DATE, TIMESTAMP) and self.rng.random() < 0.5:
            form = self.rng.choice(["%Y-%m", "%A %d. %B, %y", "%j %u%w %a %b%%", "%H:%M:%S.%f %I%p"])
            return self.make("strftime", STRING, [x, lit(form, STRING)])
        if x.type.is_float:
            return self.constant("f", STRING)
        return self.make("cast", STRING, [x])

    def binary(self, depth):
        c = self.pick(lambda t: t == BINARY)
        if depth > 0 and self.rng.random() < 0.3:
            if self.rng.random() < 0.5:
                return self.choice([self.binary(depth - 1) for _ in range(2)], depth)
            return self.make("||", BINARY, [self.binary(depth - 1), self.binary(0)])
        if c and self.rng.random() < 0.85:
            return c
        return self.constant(self.rng.choice([b"", b"\0", b"\x80", b"\xff\xff", b"ab"]), BINARY)

    def piece(self, s):
        """substring; only of ASCII strings, because half a character cannot be printed."""
        if not s.ascii:
            return s
        start, length = self.rng.choice([1, 1, 2, 0, -3, 5, 100]), self.rng.choice([0, 1, 2, 3, 10, 1000])
        args = [s, self.constant(start, INT64), self.constant(length, INT64)]
        n = self.pick(lambda t: t.is_int)
        if n and self.rng.random() < 0.2:
            args[1] = n
        if n and (n.lo >= 0 or self.dare()) and self.rng.random() < 0.2:
            args[2] = n
        return self.make("substring", STRING, args)

    def characters(self, s):
        """A piece of a string that begins and ends with characters."""
        op = self.rng.choice(["left", "right", "trim", "ltrim", "rtrim", "split_part"])
        separator = self.constant(self.rng.choice(["", " ", "a", "e", "an", "\u00e9", "%"]), STRING)
        count = self.constant(self.rng.choice([0, 1, 2, 3, 30, -1, -2, 1 << 62, -(1 << 62)]), INT64)
        args = {"left": [s, count], "right": [s, count], "split_part": [s, separator, count]}.get(op)
        if args is None:
            args = [s, separator] if self.rng.random() < 0.7 else [s]
        return self.make(op, STRING, args, ascii=s.ascii)

    def written(self, s):
        """A new string; short, because it may become part of another."""
        op = self.rng.choice(["||", "||", "upper", "lower", "reverse", "repeat", "replace", "translate", "lpad", "rpad"])
        if op in ("upper", "lower", "reverse"):
            return self.make(op, STRING, [s], ascii=s.ascii)
        count = self.constant(self.rng.choice([0, 1, 2, 3, -1] if op == "repeat" else [0, 1, 5, 12, -3]), INT64)
        if op == "repeat":
            return self.make(op, STRING, [s, count], ascii=s.ascii)
        t = self.string(0) if op == "||" else self.constant(self.rng.choice(["", " ", "a", "e", "an", "ro", "\u00e9"]), STRING)
        u = self.constant(self.rng.choice(["", "x", "yz", "\u00e9"]), STRING)
        args = {"||": [s, t], "lpad": [s, count, u], "rpad": [s, count, u]}.get(op, [s, t, u])
        return self.make(op, STRING, args, ascii=all(a.ascii for a in args if a.type == STRING))

    def text_number(self, depth):
        """A number that a string has."""
        op, s = self.rng.choice(["length", "octet_length", "ascii", "strpos"]), self.string(depth)
        args = [s, self.string(0)] if op == "strpos" else [s]
        return self.make(op, INT64, args, Fraction(0), Fraction(1 << 31))

    def like(self, a):
        text = self.rng.choice(a.samples) if a.samples else self.rng.choice(WORDS)
        pattern, escape = self.pattern(text[:40])
        op = self.rng.choice(["like", "ilike"])
        if op == "ilike":
            pattern = "".join(self.rng.choice([c, c.upper(), c.lower()]) for c in pattern)
        node = self.constant(pattern, STRING) if escape is None else lit(pattern, STRING)
        out = self.make(op, BOOL, [a, node], escape=escape)
        return out if self.rng.random() < 0.8 else self.make("not", BOOL, [out])

    def pattern(self, text):
        shape = self.rng.random()
        if shape < 0.15:
            return self.rng.choice(["", "%", "_", "%%", "__%", "%_%", "a%", "%a"]), None
        if shape < 0.3:
            escape = self.rng.choice(["\\", "!", "#"])
            for c in (escape, "%", "_"):
                text = text.replace(c, escape + c)
            return self.rng.choice([text, text + "%", "%" + text]), escape
        i, j = sorted(self.rng.randint(0, len(text)) for _ in range(2))
        middle = text[i:j]
        if middle and self.rng.random() < 0.3:
            middle = middle[:-1] + "_"
        return self.rng.choice([f"%{middle}%", f"{text[:j]}%", f"%{text[i:]}", f"{text[:i]}%{text[j:]}", text]), None
