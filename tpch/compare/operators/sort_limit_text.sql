select o_comment, o_orderkey from orders order by o_comment, o_orderkey limit 1000
