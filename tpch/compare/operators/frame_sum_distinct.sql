select sum(m)::bigint as s from (select sum(distinct o_custkey) over (partition by o_orderpriority order by o_orderdate, o_orderkey rows between 100 preceding and current row) as m from orders)
