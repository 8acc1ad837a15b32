SELECT
  LOWER("t0"."n_name") AS "name",
  LENGTH("t0"."n_name") AS "size"
FROM "nation" AS "t0"
WHERE
  "t0"."n_name" LIKE '%AN%'
