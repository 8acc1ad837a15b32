-- As the query, without a division: q < 0.2 * s / n is 5 * q * n < s.
select {'over': sum(l_extendedprice), 'under': 7} as avg_yearly
from lineitem, part, (
    select l_partkey as key, sum(l_quantity) as quantity, count(*) as lines
    from lineitem
    group by l_partkey
) as all_lines
where p_partkey = l_partkey
  and p_brand = :brand
  and p_container = :container
  and key = l_partkey
  and 5 * l_quantity * lines < quantity
