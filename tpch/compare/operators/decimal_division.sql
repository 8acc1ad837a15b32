select sum(l_extendedprice / l_quantity) as total from lineitem
