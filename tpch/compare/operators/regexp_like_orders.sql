select count(*) as n from orders where regexp_matches(o_comment, '(quick|slow)ly [a-z]+ (pinto|bold)')
