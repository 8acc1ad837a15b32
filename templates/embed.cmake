# Writes a C file that holds files as byte arrays, without limits on string lengths:
#   cmake -DOUT=out.c -DFILES=a;b;c -DHEADER=templates/embed.h -DTYPE=hdd_template \
#     -DTABLE=hdd_templates -DCOUNT=hdd_ntemplates -P embed.cmake
# HEADER declares struct TYPE {name, text, size}, its array TABLE and the int COUNT.
set(arrays "")
set(rows "")
set(n 0)
foreach(file ${FILES})
  get_filename_component(name ${file} NAME)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  string(APPEND arrays "static const unsigned char bytes_${n}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", (const char *)bytes_${n}, sizeof bytes_${n} - 1},\n")
  math(EXPR n "${n} + 1")
endforeach()
file(WRITE ${OUT} "#include \"${HEADER}\"\n\n${arrays}\n"
  "const struct ${TYPE} ${TABLE}[] = {\n${rows}};\n"
  "const int ${COUNT} = ${n};\n")
