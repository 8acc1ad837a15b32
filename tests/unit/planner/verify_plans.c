#include "tests/unit/planner/verify_plans.h"

#define SCAN_OF(table) "{'op': 'scan', 'table': '" table "'}"
#define JOIN(kind, strategy, left, l, right, r, more) \
    "{'op': 'join', 'kind': '" kind "', 'strategy': '" strategy "', 'on': [['" l "', '" r "']], 'left': " left \
    ", 'right': " right more "}"
#define AGG(keys, aggs, input) "{'op': 'aggregate', 'keys': [" keys "], 'aggs': [" aggs "], 'input': " input "}"
#define SUM(x)                 "{'fn': 'sum', 'arg': '" x "', 'as': 'sum'}"
#define FOLDED \
    JOIN("semi", "direct", \
         AGG("'pid'", \
             SUM("qty") ", {'fn': 'max', 'arg': 'wide', 'as': 'most'}, {'fn': 'count', 'arg': 'tag', 'as': 'n'}", \
             "{'op': 'scan', 'table': 'child', 'filter': 'qty <= 49'}"), \
         "pid", "{'op': 'scan', 'table': 'parent', 'filter': 'grp = 3'}", "id", "")

const struct verify_plan verify_plans[PLANS] = {
    [SCAN] =
        {"{'op': 'sort', 'keys': ['id'], 'limit': 5, 'input': {'op': 'project', 'exprs': ['id', 'name', 'note',"
         " {'expr': 'cast(amount as decimal(20,4))', 'as': 'x'}, {'expr': 'cast(cast(day as timestamp) as date)',"
         " 'as': 'd'}, {'expr': 'amount + null', 'as': 'n'}], 'input': {'op': 'scan', 'table': 'parent',"
         " 'filter': 'grp > 3 and name like `%l%` and note like `a%` and amount in (1, 2, 3) and grp in (4, 5)'}}}",
         0, 0, 0},
    [GROUP] =
        {AGG("'grp'",
             SUM("amount") ", {'fn': 'count', 'arg': 'grp', 'as': 'n'}, {'fn': 'min', 'arg': 'day', 'as': 'least'}",
             SCAN_OF("parent")),
         0, 0, 0},
    [LANES] = {AGG("'grp'", "{'fn': 'count', 'as': 'n'}, {'fn': 'sum', 'arg': 'amount', 'as': 's'}", SCAN_OF("parent")),
               0, 0, 0},
    [BLOCK] = {AGG("'grp', 'name'", SUM("amount") ", {'fn': 'min', 'arg': 'id', 'as': 'least'}", SCAN_OF("parent")), 0,
               0, 0},
    [HASHED] = {AGG("'note', 'wide'", SUM("qty"),
                    JOIN("inner", "hash", SCAN_OF("child"), "pid", SCAN_OF("parent"), "id", "")),
                0, 0, 0},
    [TOTAL] = {AGG("", SUM("amount"), SCAN_OF("parent")), 0, 0, 0},
    [RUNS] = {AGG("'pid'", SUM("qty"), SCAN_OF("orphan")), 0, 0, 0},
    [FOLD] = {FOLDED, 0, 0, 0},
    [FOLD_FRAME] = {FOLDED, 8, 0, 0},
    [HOT] = {AGG("'oid'", SUM("qty"), SCAN_OF("child")), 0, 0, 0},
    [SHARED] = {AGG("'cid', 'qty'", SUM("oid"), SCAN_OF("child")), 0, 0, 0},
    [SEMI] = {JOIN("semi", "direct", SCAN_OF("child"), "oid", "{'op': 'scan', 'table': 'parent', 'filter': 'grp = 3'}",
                   "id", ""),
              0, 0, 0},
    [DIRECT] = {JOIN("inner", "direct", SCAN_OF("child"), "oid",
                     "{'op': 'scan', 'table': 'parent', 'filter': 'day > date `1995-01-01`'}", "id",
                     ", 'build': 'right'"),
                0, 0, 0},
    [CSR] = {JOIN("inner", "auto", SCAN_OF("parent"), "id", SCAN_OF("tiny"), "v", ", 'build': 'right'"), 0, 0, 0},
    [HASH] = {JOIN("inner", "hash", SCAN_OF("parent"), "id", SCAN_OF("tiny"), "v", ", 'build': 'right'"), 0, 0, 0},
    [LEFT] = {JOIN("left", "hash", SCAN_OF("child"), "oid", SCAN_OF("parent"), "id", ""), 0, 0, 0},
    [ARRAY] = {JOIN("inner", "index", SCAN_OF("tiny"), "k", SCAN_OF("child"), "cid", ", 'build': 'right'"), 0, 0, 0},
    [RANKS] = {JOIN("inner", "index", SCAN_OF("tiny"), "k", SCAN_OF("orphan"), "cid", ", 'build': 'right'"), 0, 0, 0},
    [PARENT] = {JOIN("inner", "index", SCAN_OF("parent"), "id", SCAN_OF("child"), "oid", ", 'build': 'right'"), 0, 0,
                0},
    [CHILDREN] =
        {"{'op': 'join', 'kind': 'inner', 'strategy': 'index', 'build': 'right', 'on': [['pid', 'src'], ['qty', "
         "'dst']],"
         " 'left': " SCAN_OF("child") ", 'right': " SCAN_OF("edge") "}",
         0, 0, 0},
    [COLUMN] = {JOIN("left", "merge", SCAN_OF("child"), "cid", SCAN_OF("parent"), "id", ""), 0, 0, 0},
    [FULL] = {JOIN("full", "auto", SCAN_OF("tiny"), "v", SCAN_OF("parent"), "id", ", 'residual': 'k > grp'"), 0, 0, 0},
    [CROSS] = {"{'op': 'join', 'kind': 'inner', 'single': true, 'left': " SCAN_OF("tiny") ", 'right': " AGG(
                   "", SUM("amount"), SCAN_OF("parent")) "}",
               0, 0, 0},
    [COPIES] = {"{'op': 'sort', 'keys': ['c0'], 'input': {'op': 'project', 'keep': true, 'exprs': [{'expr': "
                "'cast(null as int64)', 'as': 'z'}], 'input': {'op': 'limit', 'limit': 9, 'input': " SCAN_OF(
                    "many") "}}}",
                0, 0, 0},
    [ASOF] = {JOIN("left", "auto", SCAN_OF("child"), "oid", SCAN_OF("parent"), "grp",
                   ", 'asof': {'left': 'qty', 'right': 'amount', 'match': '>='}"),
              0, 0, 0},
    [PAIRS] = {AGG("", SUM("qty"),
                   "{'op': 'join', 'kind': 'inner', 'strategy': 'loop', 'residual': 'qty > grp', 'left': " SCAN_OF(
                       "child") ", 'right': " SCAN_OF("parent") "}"),
               0, 0, 0},
    [COUNTS] =
        {"{'op': 'aggregate', 'keys': [{'expr': 'width_bucket(qty - grp, 0, 50, 40)', 'as': 'bucket'}], 'aggs': "
         "[{'fn': 'count', 'as': 'n'}], 'input': {'op': 'join', 'kind': 'inner', 'strategy': 'loop', 'residual': "
         "'qty > grp', 'left': " SCAN_OF("child") ", 'right': " SCAN_OF("parent") "}}",
         0, 0, 0},
    [SORTED] = {JOIN("inner", "band", SCAN_OF("child"), "pid", SCAN_OF("parent"), "id",
                     ", 'residual': 'qty between grp - 1 and grp + 1', 'build': 'right'"),
                0, 0, 0},
    [BAND] = {"{'op': 'join', 'kind': 'inner', 'strategy': 'band', 'build': 'right', 'left': " SCAN_OF(
                  "child") ", 'right': " SCAN_OF("parent") ", 'residual': 'id between pid - 1 and pid + 1'}",
              0, 0, 0},
    [RANGES] = {AGG("'grp'", SUM("qty") ", {'fn': 'max', 'arg': 'amount', 'as': 'most'}",
                    "{'op': 'join', 'kind': 'inner', 'residual': 'qty between grp and grp + 1', 'left': " SCAN_OF(
                        "child") ", 'right': " SCAN_OF("parent") "}"),
                0, 0, 0},
    [REACH] = {"{'op': 'join', 'kind': 'inner', 'strategy': 'band', 'residual': 'qty between grp and amount', "
               "'left': " SCAN_OF("child") ", 'right': " SCAN_OF("parent") ", 'build': 'right'}",
               0, 0, 0},
    [NEAREST] = {"{'op': 'top', 'keys': ['cid'], 'order': ['amount'], 'limit': 3, 'input': {'op': 'project', 'exprs': "
                 "['cid', 'id', 'amount'], 'input': {'op': 'join', 'kind': 'inner', 'strategy': 'loop', 'residual': "
                 "'qty > grp', 'left': " SCAN_OF("child") ", 'right': " SCAN_OF("parent") "}}}",
                 0, 0, 0},
    [WIDE] = {"{'op': 'project', 'exprs': [{'expr': 'wide * 2', 'as': 'x'}, {'expr': '- qty', 'as': 'y'}], 'input': "
              "{'op': 'scan', 'table': 'child', 'filter': 'wide > 1.125 and wide / 3 < 7'}}",
              0, 0, 0},
    [VALUES] = {"{'op': 'values', 'columns': [{'name': 'a', 'type': 'int32'}], 'rows': [[1], [2]]}", 0, 0, 0},
    [ENDS] = {"{'op': 'scan', 'table': 'parent', 'filter': 'id > 3'}", 0, 0, 0},
    [FIRST] = {"{'op': 'scan', 'table': 'parent', 'filter': 'id > 3'}", 0, 0, 0, .on_gpu = true},
    [ZONES] = {"{'op': 'scan', 'table': 'child', 'filter': 'oid > 6000'}", 0, 0, 0},
    [BOUNDED] = {"{'op': 'sort', 'keys': ['qty'], 'limit': 5, 'input': " SCAN_OF("child") "}", 0, 0, 0},
    [ORDER] = {"{'op': 'project', 'exprs': [{'expr': {'op': 'neg', 'args': ['c1']}, 'as': 'x'}], 'input': {'op': "
               "'sort', 'keys': ['c0'], 'input': " SCAN_OF("many") "}}",
               0, 2, 1},
    [FRAME] = {AGG("'note', 'grp', 'name'",
                   SUM("amount") ", {'fn': 'sum', 'arg': 'amount * amount + 7 * id', 'as': 'b'}, {'fn': 'max', 'arg': "
                                 "'day', 'as': 'c'}, {'fn': 'min', 'arg': 'amount + id', 'as': 'd'}",
                   "{'op': 'scan', 'table': 'parent', 'filter': 'amount > 1 and amount + id > 2'}"),
               8, 0, 0},
    [KEYS] = {"{'op': 'join', 'kind': 'inner', 'strategy': 'hash', 'on': [['a.c0', 'b.c0'], ['a.c1', 'b.c1'], ['a.c2', "
              "'b.c2'], ['a.c3', 'b.c3'], ['a.c4', 'b.c4'], ['a.c5', 'b.c5'], ['a.c6', 'b.c6'], ['a.c7', 'b.c7'], "
              "['a.c8', 'b.c8'], ['a.c9', 'b.c9'], ['a.c10', 'b.c10'], ['a.c11', 'b.c11'], ['a.c12', 'b.c12'], "
              "['a.c13', 'b.c13'], ['a.c14', 'b.c14'], ['a.c15', 'b.c15'], ['a.c16', 'b.c16']], 'left': {'op': 'scan', "
              "'table': 'many', 'alias': 'a'}, 'right': {'op': 'scan', 'table': 'many', 'alias': 'b'}}",
              8, 0, 0},
    [DEVICES] = {JOIN("inner", "hash", SCAN_OF("parent"), "id", SCAN_OF("tiny"), "v", ", 'build': 'right'"), 0, 4, 2},
    [MARKS] = {JOIN("full", "auto", SCAN_OF("tiny"), "v", SCAN_OF("parent"), "id", ", 'residual': 'k > grp'"), 0, 4, 2},
};
