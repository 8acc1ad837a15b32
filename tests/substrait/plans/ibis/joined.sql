SELECT
  *
FROM (
  SELECT
    "t5"."o_orderpriority",
    COUNT(*) AS "n",
    SUM(CASE WHEN "t5"."l_receiptdate" > "t5"."l_commitdate" THEN 1 ELSE 0 END) AS "late"
  FROM (
    SELECT
      *
    FROM (
      SELECT
        "t2"."o_orderkey",
        "t2"."o_custkey",
        "t2"."o_orderstatus",
        "t2"."o_totalprice",
        "t2"."o_orderdate",
        "t2"."o_orderpriority",
        "t2"."o_clerk",
        "t2"."o_shippriority",
        "t2"."o_comment",
        "t3"."l_orderkey",
        "t3"."l_partkey",
        "t3"."l_suppkey",
        "t3"."l_linenumber",
        "t3"."l_quantity",
        "t3"."l_extendedprice",
        "t3"."l_discount",
        "t3"."l_tax",
        "t3"."l_returnflag",
        "t3"."l_linestatus",
        "t3"."l_shipdate",
        "t3"."l_commitdate",
        "t3"."l_receiptdate",
        "t3"."l_shipinstruct",
        "t3"."l_shipmode",
        "t3"."l_comment"
      FROM "orders" AS "t2"
      INNER JOIN "lineitem" AS "t3"
        ON "t2"."o_orderkey" = "t3"."l_orderkey"
    ) AS "t4"
    WHERE
      "t4"."l_shipmode" IN ('AIR', 'MAIL')
  ) AS "t5"
  GROUP BY
    1
) AS "t6"
ORDER BY
  "t6"."o_orderpriority" ASC
