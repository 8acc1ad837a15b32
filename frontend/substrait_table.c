#include "frontend/substrait_table.h"

#include <string.h>

enum message {
#define T_MESSAGE(id) M_##id,
#include "frontend/substrait_fields.def"
    M_NONE
};
enum { ONE, MANY };
_Static_assert((int)M_Plan == (int)SUB_PLAN_MESSAGE, "plans come first");

/* Of T_FIELD's type, whichever it is. */
enum value_type {
#define T_MESSAGE(id) V_##id = M_##id,
#include "frontend/substrait_fields.def"
    V_NONE = M_NONE,
    V_Nullability,
    V_AggregationPhase,
    V_AggregationInvocation,
    V_BoundsType,
    V_SortDirection,
    V_FailureBehavior,
    V_PredicateOp,
    V_ReductionOp,
    V_ComparisonOp,
    V_JoinType,
    V_SetOp
};

static const struct sub_message_field fields[] = {
#define T_FIELD(message, number, name, kind, type, many) {name, number, SUB_##kind, many, V_##type},
#include "frontend/substrait_fields.def"
};

static const struct {
    short type;
    int number;
    const char *name;
} enums[] = {
#define T_ENUM(type, number, name) {V_##type, number, name},
#include "frontend/substrait_fields.def"
};

/* Where the fields of a message begin: constants that count rows, of which a message's own takes no number. */
enum {
#define T_MESSAGE(id)                 AT_##id, BEFORE_##id = AT_##id - 1,
#define T_FIELD(message, number, ...) ROW_##message##_##number,
#include "frontend/substrait_fields.def"
    FIELDS
};
static const short first_field[] = {
#define T_MESSAGE(id) AT_##id,
#include "frontend/substrait_fields.def"
    FIELDS};
_Static_assert(sizeof fields / sizeof fields[0] == FIELDS, "each row has its number");

const struct sub_message_field *sub_find_field(int message, uint64_t number)
{
    for (int i = first_field[message]; i < first_field[message + 1]; i++)
        if (fields[i].number == number)
            return &fields[i];
    return NULL;
}

const struct sub_message_field *sub_find_field_named(int message, const char *name)
{
    for (int i = first_field[message]; i < first_field[message + 1]; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

const char *sub_enum_name(int type, int32_t number)
{
    for (size_t i = 0; i < sizeof enums / sizeof enums[0]; i++)
        if (enums[i].type == type && enums[i].number == number)
            return enums[i].name;
    return NULL;
}

int sub_enum_number(int type, const char *name)
{
    for (size_t i = 0; i < sizeof enums / sizeof enums[0]; i++)
        if (enums[i].type == type && strcmp(enums[i].name, name) == 0)
            return enums[i].number;
    return -1;
}

enum sub_wire sub_wire_of(const struct sub_message_field *f)
{
    switch ((enum sub_value_kind)f->kind) {
    case SUB_BOOL:
    case SUB_INT32:
    case SUB_INT64:
    case SUB_UINT32:
    case SUB_ENUM: return SUB_WIRE_VARINT;
    case SUB_FLOAT: return SUB_WIRE_32;
    case SUB_DOUBLE: return SUB_WIRE_64;
    case SUB_STRING:
    case SUB_BYTES:
    case SUB_MESSAGE: break;
    }
    return SUB_WIRE_BYTES;
}
