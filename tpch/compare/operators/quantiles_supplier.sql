select l_suppkey, quantile_disc(l_extendedprice, 0.5) as m, quantile_disc(l_extendedprice, 0.9) as q, count(*) as n from lineitem group by all
