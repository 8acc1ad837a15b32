/* GetInfo. */
#include "api/adbc/adbc_batch.h"
#include "api/adbc/adbc_internal.h"

/* Members of the union, and where they are. */
enum { TEXT, BOOL, NUMBER };
enum { INFO_CONTEXT = 10000 }; /* codes from here on are a driver's own: devices, compilers, cache */
static const char info_schema[] = "!info_name:I info_value:+ud(string_value:u bool_value:b int64_value:l "
                                  "int32_bitmask:i string_list:+l(item:u) "
                                  "int32_to_int32_list_map:+m(!entries:+s(!key:i value:+l(item:i))))";

static const struct {
    uint32_t code;
    int member;
    const char *text; /* NULL: the library's version */
    int64_t number;
} facts[] = {
    {ADBC_INFO_VENDOR_NAME, TEXT, "Heddle", 0},
    {ADBC_INFO_VENDOR_VERSION, TEXT, NULL, 0},
    {ADBC_INFO_VENDOR_SQL, BOOL, NULL, 0}, /* unless there is a translator */
    {ADBC_INFO_VENDOR_SUBSTRAIT, BOOL, NULL, 1},
    {ADBC_INFO_DRIVER_NAME, TEXT, "ADBC driver of Heddle", 0},
    {ADBC_INFO_DRIVER_VERSION, TEXT, NULL, 0},
    {ADBC_INFO_DRIVER_ADBC_VERSION, NUMBER, NULL, ADBC_VERSION_1_1_0},
    {INFO_CONTEXT, TEXT, NULL, 0},
};

static bool is_wanted(uint32_t code, const uint32_t *codes, size_t n)
{
    for (size_t i = 0; codes && i < n; i++)
        if (codes[i] == code)
            return true;
    return !codes;
}

/* What heddle_context_info says, one line of JSON. */
static AdbcStatusCode put_context(const struct adbc_core *c, struct adbc_column *to, struct AdbcError *e)
{
    char *json;
    heddle_error *error = NULL;
    if (heddle_context_info(c->context, &json, &error) != 0)
        return adbc_fail_heddle(e, error);
    adbc_put_text(to, json);
    heddle_free(json);
    return ADBC_STATUS_OK;
}

AdbcStatusCode adbc_connection_info(struct AdbcConnection *h, const uint32_t *codes, size_t n,
                                    struct ArrowArrayStream *out, struct AdbcError *e)
{
    struct adbc_connection *c;
    ADBC_TRY(adbc_get_connection(h, &c, e));
    ADBC_NEED(out, e);
    struct adbc_column *rows = adbc_batch_new(info_schema);
    AdbcStatusCode status = ADBC_STATUS_OK;
    for (size_t i = 0; rows && status == ADBC_STATUS_OK && i < sizeof facts / sizeof *facts; i++) {
        if (!is_wanted(facts[i].code, codes, n))
            continue;
        struct adbc_column *values = adbc_child(rows, 1);
        adbc_put_int(adbc_child(rows, 0), facts[i].code);
        if (facts[i].code == INFO_CONTEXT)
            status = put_context(c->core, adbc_child(values, TEXT), e);
        else if (facts[i].member == TEXT)
            adbc_put_text(adbc_child(values, TEXT), facts[i].text ? facts[i].text : heddle_version());
        else if (facts[i].code == ADBC_INFO_VENDOR_SQL)
            adbc_put_int(adbc_child(values, BOOL), adbc_has_translator(c->core));
        else
            adbc_put_int(adbc_child(values, facts[i].member), facts[i].number);
        adbc_put_member(values, facts[i].member);
        adbc_put_nested(rows);
    }
    if (rows && status != ADBC_STATUS_OK) {
        adbc_batch_free(rows);
        return status;
    }
    return rows ? adbc_batch_finish(rows, out, e) : ADBC_NO_MEMORY(e);
}
