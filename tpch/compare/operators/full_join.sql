select count(*) as n, count(o_custkey) as orders, count(c_custkey) as customers, sum(o_totalprice) as total
from (from orders where o_orderdate < date '1996-01-01') full join (from customer where c_nationkey < 20) on o_custkey = c_custkey
