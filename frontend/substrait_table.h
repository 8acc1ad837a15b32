/* substrait_fields.def as tables: what reads and writes the binary form goes by them. */
#ifndef HEDDLE_FRONTEND_SUBSTRAIT_TABLE_H
#define HEDDLE_FRONTEND_SUBSTRAIT_TABLE_H

#include "runtime/base/util.h"

enum sub_value_kind {
    SUB_BOOL,
    SUB_INT32,
    SUB_INT64,
    SUB_UINT32,
    SUB_FLOAT,
    SUB_DOUBLE,
    SUB_STRING,
    SUB_BYTES,
    SUB_ENUM,
    SUB_MESSAGE
};
struct sub_message_field {
    const char *name; /* in JSON */
    unsigned number;
    unsigned char kind; /* enum sub_value_kind */
    bool many;
    short type; /* the message or enum that it is of */
};
enum { SUB_PLAN_MESSAGE = 0 };
enum sub_wire { SUB_WIRE_VARINT = 0, SUB_WIRE_64 = 1, SUB_WIRE_BYTES = 2, SUB_WIRE_32 = 5 };

/* NULL: the message has none. */
const struct sub_message_field *sub_find_field(int message, uint64_t number);
const struct sub_message_field *sub_find_field_named(int message, const char *name);
/* NULL, -1: there is none. */
const char *sub_enum_name(int type, int32_t number);
int sub_enum_number(int type, const char *name);
enum sub_wire sub_wire_of(const struct sub_message_field *f);

#endif
