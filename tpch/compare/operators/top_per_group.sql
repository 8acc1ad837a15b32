select count(*) as n, sum(o_totalprice) as total from (
  select o_totalprice from orders qualify row_number() over (partition by o_custkey order by o_totalprice desc, o_orderkey) <= 3)
