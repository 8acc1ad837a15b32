// Narrow rows of 3 words (finish_rows.cuh).
#define HDD_ROW_WIDTH 3
#include "hd/finish_rows.cuh"
