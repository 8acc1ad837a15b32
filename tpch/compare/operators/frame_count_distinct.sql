select sum(m)::bigint as s from (select count(distinct o_custkey) over (partition by o_orderpriority order by o_orderdate, o_orderkey rows between 1000 preceding and current row) as m from orders)
