select l_returnflag, quantile_disc(l_extendedprice, 0.5) as m from lineitem group by all
