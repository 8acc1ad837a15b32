// Narrow rows of 2 words (finish_rows.cuh).
#define HDD_ROW_WIDTH 2
#include "hd/finish_rows.cuh"
