select c_city, s_city, d_year, sum(lo_revenue) as revenue
from customer, lineorder, supplier, date
where lo_custkey = c_custkey
  and lo_suppkey = s_suppkey
  and lo_orderdate = d_datekey
  and c_city in :cities
  and s_city in :cities
  and d_yearmonth = :month
group by c_city, s_city, d_year
order by d_year asc, revenue desc
