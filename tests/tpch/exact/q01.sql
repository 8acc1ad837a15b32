-- As the query, an average given as its exact sum and count.
select
    l_returnflag, l_linestatus,
    sum(l_quantity) as sum_qty,
    sum(l_extendedprice) as sum_base_price,
    sum(l_extendedprice * (1 - l_discount)) as sum_disc_price,
    sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) as sum_charge,
    {'over': sum(l_quantity), 'under': count(*)} as avg_qty,
    {'over': sum(l_extendedprice), 'under': count(*)} as avg_price,
    {'over': sum(l_discount), 'under': count(*)} as avg_disc,
    count(*) as count_order
from lineitem
where l_shipdate <= date '1998-12-01' - interval :days day
group by l_returnflag, l_linestatus
order by l_returnflag, l_linestatus
