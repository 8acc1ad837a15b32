select count(*) as n, sum(o) as so from (select o_orderkey as o from orders where o_totalprice > 100000 intersect select l_orderkey from lineitem where l_shipmode = 'AIR')
