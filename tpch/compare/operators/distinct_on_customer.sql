select count(*) as n, sum(o_orderkey) as k from (select distinct on (o_custkey) o_orderkey, o_custkey, o_totalprice from orders order by o_custkey, o_totalprice desc, o_orderkey)
