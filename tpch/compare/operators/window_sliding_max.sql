select sum(m)::decimal(38,2) as s from (select max(o_totalprice) over (partition by o_custkey order by o_orderdate, o_totalprice rows between 4 preceding and current row) as m from orders)
