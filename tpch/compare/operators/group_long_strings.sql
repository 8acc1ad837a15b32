select count(*) as n, max(c) as most from (select l_comment, count(*) as c from lineitem group by all)
