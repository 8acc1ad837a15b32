// Formats of Arrow's arrays as they are read, by host and kernels. Both number them alike.
//
//   X(id, bytes, layout, value)
//
// bytes   Of a value; 0: no whole bytes, or of varying length.
// layout  INT has integers, or what is stored as one; UNIT counts days or parts of seconds in another unit than Heddle's;
//         STRING has offsets and bytes, VIEW views into several buffers, FIXED as many bytes for each value as the format
//         says; INTERVAL has months, days or parts of days; NOTHING has no buffers at all.
// value   How a kernel reads one as an integer (finish/finish_import.cu, hdd_import_<value>); NONE: what has none, strings.
#ifndef HDD_ARROW_FORMATS_CUH
#define HDD_ARROW_FORMATS_CUH

// clang-format off
#define HDD_ARROW_FORMATS(X) \
    X(BOOL,             0, INT,      BIT) \
    X(I8,               1, INT,      I8) \
    X(U8,               1, INT,      U8) \
    X(I16,              2, INT,      I16) \
    X(U16,              2, INT,      U16) \
    X(I32,              4, INT,      I32) \
    X(U32,              4, INT,      U32) \
    X(I64,              8, INT,      I64) \
    X(U64,              8, INT,      U64) \
    X(DATE,             4, INT,      I32) \
    X(TIMESTAMP,        8, INT,      I64) \
    X(TIME,             8, INT,      I64) \
    X(F16,              2, FLOAT,    HALF) \
    X(F32,              4, FLOAT,    U32) \
    X(F64,              8, FLOAT,    U64) \
    X(DEC32,            4, DECIMAL,  I32) \
    X(DEC64,            8, DECIMAL,  I64) \
    X(DEC128,          16, DECIMAL,  I128) \
    X(DEC256,          32, DECIMAL,  I256) \
    X(SECONDS,          8, UNIT,     UNIT64) \
    X(MILLIS,           8, UNIT,     UNIT64) \
    X(NANOS,            8, UNIT,     UNIT64) \
    X(SECONDS32,        4, UNIT,     UNIT32) \
    X(MILLIS32,         4, UNIT,     UNIT32) \
    X(DATE_MILLIS,      8, UNIT,     UNIT64) \
    X(MONTHS,           4, INTERVAL, MONTHS) \
    X(DAY_MILLIS,       8, INTERVAL, DAY_MILLIS) \
    X(MONTH_DAY_NANOS, 16, INTERVAL, MONTH_DAY_NANOS) \
    X(UTF8,             0, STRING,   NONE) \
    X(LARGE_UTF8,       0, STRING,   NONE) \
    X(VIEW,            16, VIEW,     NONE) \
    X(FIXED,            0, FIXED,    NONE) \
    X(NOTHING,          0, NOTHING,  NONE)
// clang-format on

#define X(id, bytes, layout, value) HDD_ARROW_##id,
enum hdd_arrow_format { HDD_ARROW_FORMATS(X) HDD_ARROW_FORMAT_COUNT };
#undef X

#endif
