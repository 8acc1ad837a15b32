select sum(m)::decimal(38,2) as s from (select sum(o_totalprice) over (partition by o_custkey order by o_orderdate range between interval 90 days preceding and current row) as m from orders)
