select sum(m) as s from (select l_partkey, quantile_disc(l_extendedprice, 0.5) as m from lineitem group by all)
