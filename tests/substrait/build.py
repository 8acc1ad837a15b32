"""Plans of Substrait in JSON, made by hand: what tests need of each relation and expression."""


# ---- types and expressions ----

def typ(name, nullable=True, **more):
    return {name: {"nullability": "NULLABILITY_NULLABLE" if nullable else "NULLABILITY_REQUIRED", **more}}


def lit(**value):
    return {"literal": value}


def i32(n):
    return lit(i32=n)


def text(s):
    return lit(string=s)


def field(n):
    """0 is left out, as in what producers write."""
    return {"selection": {"directReference": {"structField": {"field": n} if n else {}}, "rootReference": {}}}


class Functions:
    """Anchors of functions, given as they are called."""

    def __init__(self):
        self.names = []

    def anchor(self, name):
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    def reference(self, name):
        n = self.anchor(name)
        return {"functionReference": n} if n else {}

    def call(self, name, *args):
        return {"scalarFunction": {**self.reference(name), "outputType": typ("i64"), "arguments": [
            a if "enum" in a else {"value": a} for a in args]}}

    def measure(self, name, *args, filter=None, **more):
        return {"measure": {**self.reference(name), "arguments": [{"value": a} for a in args], "outputType": typ("i64"),
                            "phase": "AGGREGATION_PHASE_INITIAL_TO_RESULT", **more}, **({"filter": filter} if filter else {})}

    def window(self, name, *args, partitions=(), sorts=(), lower=None, upper=None, bounds="ROWS"):
        return {"windowFunction": {**self.reference(name), "arguments": [{"value": a} for a in args],
                                   "partitions": list(partitions), "sorts": list(sorts), "boundsType": f"BOUNDS_TYPE_{bounds}",
                                   "lowerBound": lower or {"unbounded": {}}, "upperBound": upper or {"unbounded": {}}}}

    def own(self, name, *args):
        """One of Heddle's own extension."""
        return self.call("own " + name, *args)

    def extensions(self):
        return [{"extensionFunction": {"extensionUrnReference": 2 if n.startswith("own ") else 1, **({"functionAnchor": i} if i else {}),
                                       "name": n.removeprefix("own ")}} for i, n in enumerate(self.names)]


def cast(x, to, behaviour="THROW_EXCEPTION"):
    return {"cast": {"input": x, "type": to, "failureBehavior": f"FAILURE_BEHAVIOR_{behaviour}"}}


def key(x, direction="ASC_NULLS_LAST"):
    return {"expr": x, "direction": f"SORT_DIRECTION_{direction}"}


# ---- relations ----

def values(columns, *rows):
    """columns: {name: type}; rows of literals."""
    return {"read": {"common": {"direct": {}}, "baseSchema": schema(columns), "virtualTable": {
        "values": [{"fields": [v["literal"] for v in row]} for row in rows]}}}


def schema(columns):
    return {"names": list(columns), "struct": {"types": list(columns.values()), "nullability": "NULLABILITY_REQUIRED"}}


def rel(kind, emit=None, **fields):
    common = {"emit": {"outputMapping": emit}} if emit is not None else {"direct": {}}
    return {kind: {"common": common, **fields}}


def plan(functions, names, root, producer="", relations=(), **more):
    return {"version": {"minorNumber": 50, "producer": producer}, "extensionUrns": [
                {"extensionUrnAnchor": 1, "urn": "extension:functions"},
                {"extensionUrnAnchor": 2, "urn": "extension:io.heddle:functions"}],
            "extensions": functions.extensions(), "relations": [*relations, {"root": {"input": root, "names": names}}], **more}
