#include <string.h>

#include "frontend/substrait_read.h"
#include "runtime/base/type.h"

enum fields { PLAIN, DECIMAL, MICROS, INTEGER };
static const char *const names[] = {
#define T_TYPE_OF(name, heddle, fields) name,
#include "frontend/substrait_types.def"
};
static const struct {
    const char *heddle;
    enum fields fields;
} types[] = {
#define T_TYPE_OF(name, heddle, fields) {heddle, fields},
#include "frontend/substrait_types.def"
};

static int decimal(struct sub *t, const struct fe_json *v, const char **out)
{
    int64_t p = 0, s = 0;
    HD_TRY(fe_json_opt_int(v, "precision", 1, HD_DEC_MAX, &p));
    HD_TRY(fe_json_opt_int(v, "scale", 0, p, &s));
    if (p == 0)
        return fe_json_fail(v, "expected a precision of 1 to %d", HD_DEC_MAX);
    *out = hd_asprintf(t->arena, "decimal(%d,%d)", (int)p, (int)s);
    return 0;
}

int sub_type(struct sub *t, const struct fe_json *v, const char **out)
{
    int k;
    int64_t n;
    struct fe_json m;
    HD_TRY(sub_kind(v, names, (int)HD_COUNT(names), "a type", &k, &m));
    *out = types[k].heddle;
    switch (types[k].fields) {
    case PLAIN: return 0;
    case DECIMAL: return decimal(t, &m, out);
    case MICROS:
        HD_TRY(sub_int(&m, "precision", &n));
        return n <= 9 ? 0 : sub_refuse(t, &m, "times have microseconds at most, found precision %lld", (long long)n);
    case INTEGER:
        HD_TRY(sub_int(&m, "typeVariationReference", &n));
        *out = n ? "int64" : "int32";
        return 0;
    }
    return 0;
}

bool sub_type_nullable(const struct fe_json *v)
{
    struct fe_json m;
    return !fe_json_first(v, &m) || strcmp(sub_text(&m, "nullability"), "NULLABILITY_REQUIRED") != 0;
}
