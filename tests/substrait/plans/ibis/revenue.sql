SELECT
  SUM("t1"."value") AS "revenue",
  COUNT(*) AS "n"
FROM (
  SELECT
    "t0"."l_orderkey",
    "t0"."l_partkey",
    "t0"."l_suppkey",
    "t0"."l_linenumber",
    "t0"."l_quantity",
    "t0"."l_extendedprice",
    "t0"."l_discount",
    "t0"."l_tax",
    "t0"."l_returnflag",
    "t0"."l_linestatus",
    "t0"."l_shipdate",
    "t0"."l_commitdate",
    "t0"."l_receiptdate",
    "t0"."l_shipinstruct",
    "t0"."l_shipmode",
    "t0"."l_comment",
    "t0"."l_extendedprice" * "t0"."l_discount" AS "value"
  FROM "lineitem" AS "t0"
  WHERE
    "t0"."l_shipdate" >= MAKE_DATE(1994, 1, 1)
    AND "t0"."l_shipdate" < MAKE_DATE(1995, 1, 1)
    AND "t0"."l_quantity" < 24
) AS "t1"
