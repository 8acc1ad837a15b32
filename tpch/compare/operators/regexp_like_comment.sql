select count(*) as n from lineitem where regexp_matches(l_comment, 'special.*requests|ironic (deposits|accounts)')
