select count(*) as n, max(c) as most from (select substring(l_comment, 1, 10) as s, count(*) as c from lineitem group by all)
