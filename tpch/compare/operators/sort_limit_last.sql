select o_orderkey, o_totalprice from orders order by o_orderkey desc limit 10
