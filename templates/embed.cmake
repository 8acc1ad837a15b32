# Writes a C file that holds files as byte arrays, without limits on string lengths:
#   cmake -DOUT=out.c -DFILES=a;b;c -P embed.cmake
# The table is declared in embed.h.
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
file(WRITE ${OUT} "#include \"templates/embed.h\"\n\n${arrays}\n"
  "const struct hdd_template hdd_templates[] = {\n${rows}};\n"
  "const int hdd_ntemplates = ${n};\n")
