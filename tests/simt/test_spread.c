/* One GPU or several, by what executions took: over emulated devices, with times that HEDDLE_DEVICES_MS says.
 *
 *   test_spread DATABASE        TPC-H
 */
#include <stdlib.h>
#include <string.h>

#include "api/api_spread.h"
#include "runtime/base/fault.h"
#include "tests/simt/session.h"

static void begin(const char *devices)
{
    heddle_options o = session_options();
    o.devices = devices;
    o.backend = "cuda";
    session_begin(&o);
}

static const char SUM[] =
    "{\"heddle\":1,\"params\":{\"most\":{\"type\":\"int64\",\"default\":\"24\"}},\"root\":{\"op\":"
    "\"aggregate\",\"keys\":[],\"aggs\":[{\"fn\":\"count\",\"as\":\"n\"}],\"input\":{\"op\":"
    "\"scan\",\"table\":\"lineitem\",\"filter\":\"l_quantity < :most\"}}}";
/* Nothing is spread. */
static const char WHOLE[] =
    "{\"heddle\":1,\"root\":{\"op\":\"values\",\"columns\":[{\"name\":\"n\",\"type\":\"int64\"}],\"rows\":[[\"7\"]]}}";

static heddle_statement *prepare(const char *plan, bool deterministic)
{
    heddle_statement_options o;
    heddle_statement_options_init(&o);
    o.deterministic = deterministic;
    return session_prepare(plan, &o);
}

/* The first number of the first row; -1: the query failed. */
static int64_t count(heddle_statement *s)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    heddle_error *e = NULL;
    if (heddle_execute(s, &stream, &e) != 0) {
        heddle_error_free(e);
        return -1;
    }
    EXPECT(stream.get_next(&stream, &batch) == 0 && batch.release);
    int64_t n = ((const int64_t *)batch.children[0]->buffers[1])[0];
    batch.release(&batch);
    stream.release(&stream);
    return n;
}

/* How many devices the last execution was on; text: also in the report. */
static int used(heddle_statement *s, const char *text)
{
    char *json;
    heddle_error *e = NULL;
    ok(heddle_statement_report(s, &json, &e), &e);
    const char *list = strstr(json, "\"used\":[");
    EXPECT(list && (!text || strstr(json, text)));
    int n = 1;
    for (; *list != ']'; list++)
        n += *list == ',';
    heddle_free(json);
    return n;
}

/* Times of executions on one and on several; as many executions as there are digits, of devices that each is on. */
static void expect(heddle_statement *s, const char *times, const char *devices)
{
    setenv("HEDDLE_DEVICES_MS", times, 1);
    for (const char *want = devices; *want; want++) {
        EXPECT(count(s) > 0);
        int found = used(s, NULL);
        CHECK(found == *want - '0', "%s: execution %d of %s is on %d", times, (int)(want - devices) + 1, devices,
              found);
    }
}

static void slower_on_two_goes_back(void)
{
    begin("0,1");
    heddle_statement *s = prepare(SUM, false), *other;
    expect(s, "10,13", "11112222111111111111");
    used(s, "\"why\":\"10 ms on one GPU (measured), 13 on 2 (measured)\"");
    other = prepare(SUM, false); /* what is known is of the plan */
    expect(other, "10,13", "111");
    heddle_statement_free(other);
    heddle_statement_free(s);
    end();
}

/* Their times are a quarter apart at most. */
static void what_is_near_is_tried_for_longer(void)
{
    begin("0,1");
    heddle_statement *s = prepare(SUM, false);
    expect(s, "10,11", "111122222222");
    used(s, "\"why\":\"10 ms on one GPU (measured), 11 on 2 (measured); several are tried\"");
    expect(s, "10,9", "22221111111122222222"); /* they got faster */
    used(s, "\"why\":\"10 ms on one GPU (measured), 9 on 2 (measured)\"");
    heddle_statement_free(s);
    end();
}

static void what_gains_stays(void)
{
    begin("0,1");
    heddle_statement *s = prepare(SUM, false);
    expect(s, "10,7", "111");
    int64_t alone = count(s);
    expect(s, "10,7", "22222222222222222");
    used(s, "\"why\":\"10 ms on one GPU (measured), 7 on 2 (measured)\"");
    EXPECT(count(s) == alone);
    expect(s, "10,13", "22222222111"); /* once the fastest of eight is slower */
    heddle_statement_free(s);
    end();
}

static void what_cannot_gain_is_not_tried(void)
{
    begin("0,1");
    heddle_statement *s = prepare(SUM, false);
    expect(s, "0.12,0.02", "11111111");
    used(s, "\"why\":\"0.12 ms on one GPU (measured), ");
    heddle_statement_free(s);
    s = prepare(WHOLE, false);
    expect(s, "50,1", "1111");
    used(s, "\"why\":\"the plan cannot be divided\"");
    heddle_statement_free(s);
    end();
}

/* Other values, statements that no clock decides for, and explain, which executes nothing. */
static void other_calls(void)
{
    char *text;
    heddle_error *e = NULL;
    begin("0,1,2");
    heddle_statement *s = prepare(SUM, false), *still = prepare(SUM, true);
    expect(s, "10,5", "11113333");
    for (int i = 0; i < 3; i++) {
        ok(heddle_explain(s, "devices", &text, &e), &e);
        EXPECT(strncmp(text, "3 of 3: 10 ms on one GPU (measured), 5 on 3 (measured)\n", 55) == 0);
        heddle_free(text);
    }
    ok(heddle_bind(s, "most", "10", &e), &e);
    expect(s, "10,5", "33");
    expect(still, "10,5", "1111");
    heddle_statement_free(still);
    heddle_statement_free(s);
    end();
}

static const char MODES[] = "{\"heddle\":1,\"params\":{\"most\":{\"type\":\"int64\",\"default\":\"50\"}},\"root\":{"
                            "\"op\":\"sort\",\"keys\":[{\"expr\":"
                            "\"n\",\"desc\":true}],\"input\":{\"op\":\"aggregate\",\"keys\":[\"l_shipmode\"],\"aggs\":["
                            "{\"fn\":\"count\",\"as\":\"n\"},"
                            "{\"fn\":\"sum\",\"arg\":\"l_quantity\",\"as\":\"q\"}],\"input\":{\"op\":\"scan\","
                            "\"table\":\"lineitem\",\"filter\":"
                            "\"l_quantity < :most\"}}}}";
/* The last step reads a table, too. */
static const char JOINED[] =
    "{\"heddle\":1,\"root\":{\"op\":\"sort\",\"keys\":[{\"expr\":\"n_name\"}],\"input\":{\"op\":\"aggregate\",\"keys\":"
    "[\"n_name\"],"
    "\"aggs\":[{\"fn\":\"count\",\"as\":\"n\"}],\"input\":{\"op\":\"join\",\"kind\":\"inner\",\"on\":[[\"k\",\"n_"
    "nationkey\"]],"
    "\"left\":{\"op\":\"aggregate\",\"keys\":[\"l_shipmode\"],\"aggs\":[{\"fn\":\"min\",\"arg\":\"l_linenumber\","
    "\"as\":\"k\"}],"
    "\"input\":{\"op\":\"scan\",\"table\":\"lineitem\"}},\"right\":{\"op\":\"scan\",\"table\":\"nation\"}}}}}";
/* More rows come than is expected: 4,000 of 2,000 parts. */
static const char PARTS[] = "{\"heddle\":1,\"root\":{\"op\":\"aggregate\",\"keys\":[],\"aggs\":[{\"fn\":\"max\","
                            "\"arg\":\"n\",\"as\":\"most\"}],\"input\":{"
                            "\"op\":\"aggregate\",\"keys\":[\"l_partkey\"],\"aggs\":[{\"fn\":\"count\",\"as\":\"n\"}],"
                            "\"input\":{\"op\":\"scan\",\"table\":"
                            "\"lineitem\",\"filter\":\"l_linenumber * 0 = 0 and l_suppkey * 0 = 0 and l_orderkey * 0 = "
                            "0 and l_partkey * 0 = 0\"}}}}";
static const char CPU[] = "\"fragment\":1,\"device\":\"cpu\"", GPU[] = "\"fragment\":1,\"device\":0";

static struct rows rows_of(const char *devices, const char *plan, const char *where, bool deterministic)
{
    char *text;
    heddle_error *e = NULL;
    begin(devices);
    heddle_statement *s = prepare(plan, deterministic);
    struct rows first = run(s);
    for (int i = 0; i < 3; i++) {
        same(run(s), first);
        EXPECT(!where || reports(s, where));
    }
    ok(heddle_explain(s, "devices", &text, &e), &e);
    EXPECT(!where || (strstr(text, "fragment 1 on the CPU") != NULL) == (where == CPU));
    heddle_free(text);
    heddle_statement_free(s);
    end();
    return first;
}

/* Rows with strings have come to the host. */
static void few_rows_are_for_the_cpu(void)
{
    setenv("HEDDLE_SPREAD", "always", 1);
    struct rows one = rows_of("0", MODES, NULL, false), joined = rows_of("0", JOINED, NULL, false);
    same(rows_of("0,1", MODES, CPU, false), one);
    same(rows_of("0,1", MODES, CPU, true), one);
    same(rows_of("0,1", JOINED, GPU, false), joined);
    unsetenv("HEDDLE_SPREAD");
}

/* Numbers come to the host for that, unless more came before. */
static void few_numbers_go_by_the_host(void)
{
    setenv("HEDDLE_SPREAD", "always", 1);
    struct rows one = rows_of("0", SUM, NULL, false), parts = rows_of("0", PARTS, NULL, false);
    same(rows_of("0,1", SUM, CPU, false), one);
    begin("0,1");
    heddle_statement *s = prepare(PARTS, false);
    for (int i = 0; i < 3; i++) {
        same(run(s), parts);
        EXPECT(reports(s, GPU) &&
               reports(s, i ? "\"direct\":true" : "\"id\":0,\"exchange\":\"gather\",\"direct\":false"));
    }
    heddle_statement_free(s);
    end();
    unsetenv("HEDDLE_SPREAD");
}

static void a_lost_device_begins_anew(void)
{
    begin("0,1,2");
    heddle_statement *s = prepare(SUM, false);
    expect(s, "10,5", "1111333");
    EXPECT(hd_fault_arm("device2:1"));
    EXPECT(count(s) == -1);
    hd_fault_arm(NULL);
    expect(s, "10,5", "111122222");
    used(s, "\"why\":\"10 ms on one GPU (measured), 5 on 2 (measured)\"");
    expect(s, "10,13", "22222222111");
    heddle_statement_free(s);
    end();
}

/* The final step of the groups reads keys and sums of which it knows what they can be: an array of groups, sums of 64 bits. */
static void ranges_of_exchanged_rows(void)
{
    static const char groups[] =
        "{\"heddle\":1,\"root\":{\"op\":\"sort\",\"keys\":[\"l_suppkey\"],\"input\":{\"op\":\"aggregate\","
        "\"keys\":[\"l_suppkey\"],\"aggs\":[{\"fn\":\"sum\",\"arg\":\"l_extendedprice\",\"as\":\"s\"}],"
        "\"input\":{\"op\":\"scan\",\"table\":\"lineitem\"}}}}";
    setenv("HEDDLE_SPREAD", "always", 1);
    begin("0,1");
    heddle_statement *s = prepare(groups, false);
    EXPECT((int32_t)count(s) == 1 && s->spread && s->spread->nfragments == 2);
    const struct fe_table *t = s->spread->fragments[0].table[0].table;
    const struct fe_facts *key = &t->cols[0].facts, *sum = &t->cols[1].facts;
    EXPECT(t->ncols == 2 && key->known && key->has_range && key->min == 1 && key->max == 100);
    EXPECT(!key->unique && key->distinct == -1); /* both may have a supplier */
    EXPECT(sum->known && sum->has_range && sum->min == 0 && sum->max > 0 && sum->max <= INT64_MAX);
    unsigned version = s->spread->fragments[0].table[0].version;
    EXPECT((int32_t)count(s) == 1 && s->spread->fragments[0].table[0].version == version);
    heddle_statement_free(s);
    end();
    unsetenv("HEDDLE_SPREAD");
}

static const struct session_case cases[] = {
    CASE(slower_on_two_goes_back),
    CASE(what_is_near_is_tried_for_longer),
    CASE(what_gains_stays),
    CASE(what_cannot_gain_is_not_tried),
    CASE(other_calls),
    CASE(few_rows_are_for_the_cpu),
    CASE(few_numbers_go_by_the_host),
    CASE(a_lost_device_begins_anew),
    CASE(ranges_of_exchanged_rows),
};

int main(int argc, char **argv)
{
    EXPECT(argc == 2);
    folder = argv[1];
    for (size_t i = 0; i < HD_COUNT(cases); i++)
        session_run(&cases[i]);
    return 0;
}
