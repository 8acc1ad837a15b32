// Narrow rows of 4 words (finish_rows.cuh).
#define HDD_ROW_WIDTH 4
#include "hd/finish_rows.cuh"
