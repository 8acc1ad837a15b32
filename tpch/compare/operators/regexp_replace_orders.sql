select sum(strlen(regexp_replace(o_comment, '[aeiou]+', '*', 'g')))::decimal(38,0) as n from orders
