/* Bench results: the fastest run of each query, sums and geometric means. */
#include "tools/bench_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/text.h"
#include "tools/text_table.h"

void bench_result_release(struct bench_result *r)
{
    cJSON_Delete(r->runs);
    free(r->difference);
    cli_error_clear(&r->error);
}

int bench_failures(const struct bench_results *all)
{
    int n = 0;
    for (int i = 0; i < all->n; i++)
        n += all->at[i].status != BENCH_OK || all->at[i].difference;
    return n;
}

static double number(const cJSON *report, const char *key)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(report, key);
    return cJSON_IsNumber(v) ? v->valuedouble : 0;
}

/* Index of the run with the least total time; -1 if there is none. */
static int fastest(const struct bench_result *r)
{
    int best = -1, i = 0;
    double min = INFINITY;
    const cJSON *run;
    cJSON_ArrayForEach(run, r->runs)
    {
        double total = number(run, "total_ms");
        if (total < min) {
            min = total;
            best = i;
        }
        i++;
    }
    return best;
}

/* The times in the table: of the fastest run, except that `first` is the first run's total. */
enum { PLAN, CODEGEN, COMPILE, TRANSFER, EXECUTE, RESULT, TOTAL, FIRST, TIMES };
static const struct {
    const char *title, *key;
} times[TIMES] = {
    [PLAN] = {"plan", "plan_ms"},          [CODEGEN] = {"codegen", "codegen_ms"},
    [COMPILE] = {"compile", "compile_ms"}, [TRANSFER] = {"transfer", "transfer_ms"},
    [EXECUTE] = {"execute", "execute_ms"}, [RESULT] = {"result", "result_ms"},
    [TOTAL] = {"total", "total_ms"},       [FIRST] = {"first", "total_ms"},
};

static double time_of(const struct bench_result *r, int t)
{
    return number(cJSON_GetArrayItem(r->runs, t == FIRST ? 0 : fastest(r)), times[t].key);
}

static double sum_of(const struct bench_results *all, int t)
{
    double sum = 0;
    for (int i = 0; i < all->n; i++)
        if (all->at[i].status == BENCH_OK)
            sum += time_of(&all->at[i], t);
    return sum;
}

static double geomean_of(const struct bench_results *all, int t)
{
    double logs = 0;
    int n = 0;
    for (int i = 0; i < all->n; i++) {
        if (all->at[i].status == BENCH_OK) {
            logs += log(fmax(time_of(&all->at[i], t), 1e-3));
            n++;
        }
    }
    return n ? exp(logs / n) : 0;
}

static void add_text(struct text_table *t, char *text)
{
    text_table_text(t, text);
    free(text);
}

static const char *check_text(const struct bench_result *r)
{
    return !r->checked ? "-" : r->difference ? "DIFFERS" : "ok";
}

static void add_result(struct text_table *t, const struct bench_result *r)
{
    text_table_text(t, r->query->name);
    if (r->status != BENCH_OK) {
        text_table_text(t, r->status == BENCH_TIMEOUT ? "timeout" : "error");
        text_table_row_end(t);
        return;
    }
    const cJSON *best = cJSON_GetArrayItem(r->runs, fastest(r));
    for (int i = 0; i < TIMES; i++) {
        bool cached = i == COMPILE && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(best, "compile_cached"));
        add_text(t, cli_format("%.2f%s", time_of(r, i), cached ? "*" : ""));
    }
    add_text(t, cli_format("%.1f", number(best, "peak_bytes") / 1048576));
    add_text(t, cli_format("%lld", (long long)r->rows));
    text_table_text(t, check_text(r));
}

static void add_summary(struct text_table *t, const struct bench_results *all, const char *title,
                        double (*of)(const struct bench_results *, int))
{
    text_table_text(t, title);
    for (int i = 0; i < TIMES; i++)
        add_text(t, cli_format("%.2f", of(all, i)));
    text_table_row_end(t);
}

static const char *text_of(const cJSON *run, const char *key)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(run, key));
}

/* Of all runs, how many were on a backend; *device: the name of its device, if it has one. */
static int count_runs(const struct bench_results *all, const char *backend, const char **device)
{
    int n = 0;
    for (int i = 0; i < all->n; i++) {
        const cJSON *run;
        cJSON_ArrayForEach(run, all->at[i].runs)
        {
            if (strcmp(text_of(run, "backend"), backend) != 0)
                continue;
            n++;
            *device = text_of(run, "device");
        }
    }
    return n;
}

/* What the queries ran on, and how often where it was not the same for all. */
static void print_backend(const struct bench_results *all, FILE *f)
{
    const char *gpu = NULL, *none = NULL;
    int on_cpu = count_runs(all, "cpu", &none), on_gpu = count_runs(all, "cuda", &gpu);
    if (on_cpu && on_gpu)
        fprintf(f, "Backends cpu (%d runs) and cuda, %s (%d).\n", on_cpu, gpu, on_gpu);
    else if (on_cpu)
        fputs("Backend cpu.\n", f);
    else if (on_gpu)
        fprintf(f, "Backend cuda, %s.\n", gpu);
}

static struct answers {
    int compared, differ;
} count_answers(const struct bench_results *all)
{
    struct answers n = {0, 0};
    for (int i = 0; i < all->n; i++) {
        n.compared += all->at[i].checked;
        n.differ += all->at[i].difference != NULL;
    }
    return n;
}

/* Names of a suite and texts of its rows may hold anything. Frees the text. */
static void print_line(FILE *f, char *text)
{
    text_put_printable(f, text, "");
    fputc('\n', f);
    free(text);
}

/* How many results were compared, and why others were not. */
static void print_answers(const struct bench_results *all, const struct suite *s, FILE *f)
{
    const struct answers n = count_answers(all);
    int left = all->n - n.compared;
    char *none = suite_why_no_answers(s);
    char *differ = n.differ     ? cli_format(", %d differ%s", n.differ, n.differ == 1 ? "s" : "")
                   : n.compared ? cli_strdup(", all equal")
                                : cli_strdup("");
    char *why = none ? cli_format(": %s", none) : left ? cli_format("; %d gave no result", left) : cli_strdup("");
    print_line(f, cli_format("Answers: %d of %d compared%s%s.", n.compared, all->n, differ, why));
    free(why);
    free(differ);
    free(none);
}

void bench_print(const struct bench_results *all, const struct suite *s, FILE *f)
{
    struct text_table t;
    text_table_init(&t, f);
    text_table_column(&t, "query", false);
    for (int i = 0; i < TIMES; i++)
        text_table_column(&t, times[i].title, true);
    text_table_column(&t, "peak MiB", true);
    text_table_column(&t, "rows", true);
    text_table_column(&t, "answer", false);
    for (int i = 0; i < all->n; i++)
        add_result(&t, &all->at[i]);
    add_summary(&t, all, "sum", sum_of);
    add_summary(&t, all, "geomean", geomean_of);
    text_table_end(&t);
    fputs("Times in ms, of each query's fastest run; first: total of the first run; * from the "
          "cache.\n",
          f);
    print_backend(all, f);
    print_answers(all, s, f);
    for (int i = 0; i < all->n; i++) {
        const struct bench_result *r = &all->at[i];
        const char *path = r->error.path;
        if (r->status == BENCH_ERROR)
            print_line(f,
                       cli_format("%s: %s%s%s", r->query->name, path ? path : "", path ? ": " : "", r->error.message));
        if (r->difference)
            print_line(f, cli_format("%s: %s", r->query->name, r->difference));
        if (r->query->not_comparable)
            print_line(f, cli_format("%s: not comparable: %s", r->query->name, r->query->not_comparable));
    }
}

/* ---- JSON ---- */

static cJSON *result_json(const struct bench_result *r)
{
    static const char *const names[] = {[BENCH_OK] = "ok", [BENCH_ERROR] = "error", [BENCH_TIMEOUT] = "timeout"};
    cJSON *j = cJSON_CreateObject();
    cJSON_AddStringToObject(j, "name", r->query->name);
    cJSON_AddStringToObject(j, "status", names[r->status]);
    if (r->error.message) {
        cJSON_AddStringToObject(j, "error_class", r->error.class);
        cJSON_AddStringToObject(j, "error_path", r->error.path ? r->error.path : "");
        cJSON_AddStringToObject(j, "error", r->error.message);
    }
    if (r->status == BENCH_OK) {
        cJSON_AddNumberToObject(j, "rows", (double)r->rows);
        cJSON_AddNumberToObject(j, "fastest", fastest(r));
    }
    cJSON_AddStringToObject(j, "answer", !r->checked ? "none" : r->difference ? "differs" : "equal");
    if (r->difference)
        cJSON_AddStringToObject(j, "difference", r->difference);
    if (r->query->not_comparable)
        cJSON_AddStringToObject(j, "not_comparable", r->query->not_comparable);
    cJSON_AddItemToObject(j, "runs", cJSON_Duplicate(r->runs, true));
    return j;
}

static cJSON *summary_json(const struct bench_results *all, double (*of)(const struct bench_results *, int))
{
    cJSON *j = cJSON_CreateObject();
    for (int i = 0; i < TIMES; i++) {
        char *key = i == FIRST ? cli_strdup("first_total_ms") : cli_strdup(times[i].key);
        cJSON_AddNumberToObject(j, key, of(all, i));
        free(key);
    }
    return j;
}

static cJSON *answers_json(const struct bench_results *all, const struct suite *s)
{
    const struct answers n = count_answers(all);
    cJSON *j = cJSON_CreateObject();
    char *none = suite_why_no_answers(s);
    cJSON_AddNumberToObject(j, "compared", n.compared);
    cJSON_AddNumberToObject(j, "differ", n.differ);
    if (none)
        cJSON_AddStringToObject(j, "none_because", none);
    free(none);
    return j;
}

char *bench_json(const struct bench_results *all, const struct suite *s, const char *machine)
{
    cJSON *j = cJSON_CreateObject();
    cJSON_AddStringToObject(j, "heddle", heddle_version());
    cJSON_AddStringToObject(j, "suite", s->name ? s->name : s->dir);
    cJSON_AddStringToObject(j, "class", s->class ? s->class : "");
    cJSON_AddNumberToObject(j, "scale_factor", suite_scale(s));
    cJSON_AddItemToObject(j, "machine", cJSON_Parse(machine));
    cJSON *queries = cJSON_AddArrayToObject(j, "queries");
    for (int i = 0; i < all->n; i++)
        cJSON_AddItemToArray(queries, result_json(&all->at[i]));
    cJSON_AddItemToObject(j, "answers", answers_json(all, s));
    cJSON_AddItemToObject(j, "sum", summary_json(all, sum_of));
    cJSON_AddItemToObject(j, "geomean", summary_json(all, geomean_of));
    char *printed = cJSON_Print(j), *text = cli_strdup(printed);
    cJSON_free(printed);
    cJSON_Delete(j);
    return text;
}
