// Narrow rows of 1 word (finish_rows.cuh).
#define HDD_ROW_WIDTH 1
#include "hd/finish_rows.cuh"
