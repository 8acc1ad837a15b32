-- As the query, the percentage given as its two exact sums.
select
    {'over': 100 * sum(case when p_type like 'PROMO%' then l_extendedprice * (1 - l_discount) else 0 end),
     'under': sum(l_extendedprice * (1 - l_discount))} as promo_revenue
from lineitem, part
where l_partkey = p_partkey
  and l_shipdate >= :date
  and l_shipdate < :date + interval 1 month
