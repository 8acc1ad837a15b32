/* Values of parameters: defaults, -p name=text, and JSON objects. */
#include <stdio.h>
#include <string.h>

#include "frontend/json.h"
#include "frontend/plan_read.h"
#include "frontend/value.h"
#include "runtime/base/suggest.h"

static int read_scalar(struct fe_param *p, const struct fe_json *v, struct fe_value *out)
{
    char type[HD_TEXT_MAX];
    if (fe_json_kind(v) == FE_JSON_ARRAY)
        return fe_json_fail(v,
                            "parameter :%s is one %s, found a list; parameters of several "
                            "values are of type list(%s)",
                            p->name, hd_type_text(p->type, type), type);
    HD_TRY(fe_value_read(v, p->type, out));
    if (out->is_null && !p->nullable)
        return fe_json_fail(v, "parameter :%s is null but not declared \"nullable\"", p->name);
    return 0;
}

static int read_list(struct fe_param *p, const struct fe_json *v)
{
    struct fe_json e;
    int n = 0;
    char what[HD_TEXT_MAX * 2], type[HD_TEXT_MAX];
    snprintf(what, sizeof what, "a list for the parameter of type list(%s)", hd_type_text(p->type, type));
    if (fe_json_kind(v) != FE_JSON_ARRAY)
        return fe_json_expected(v, what);
    struct fe_value *list = HD_NEWN(v->r->arena, struct fe_value, fe_json_length(v));
    for (bool more = fe_json_first(v, &e); more; more = fe_json_next(&e)) {
        HD_TRY(fe_value_read(&e, p->type, &list[n]));
        if (list[n++].is_null)
            return fe_json_fail(&e, "a list parameter holds no null");
    }
    p->list = list;
    p->nlist = n;
    return 0;
}

/* What it had stays as long as the new value cannot be taken. */
static int take(struct fe_param *p, struct fe_value v, struct hd_err *err)
{
    const char *what = fe_constant_misfit(p, &v);
    if (what)
        return HD_FAIL(err, USER, p->path, "parameter :%s: expected %s", p->name, what);
    p->value = v;
    for (struct fe_param_use *u = p->uses; u; u = u->next)
        u->expr->value = v;
    return 0;
}

int fe_param_read_value(struct fe_param *p, const struct fe_json *v)
{
    struct fe_value value;
    if (p->is_list)
        return read_list(p, v);
    HD_TRY(read_scalar(p, v, &value));
    return take(p, value, v->r->err);
}

static struct fe_param *find_param(struct fe_plan *p, const char *name)
{
    for (int i = 0; i < p->nparams; i++)
        if (strcmp(p->params[i].name, name) == 0)
            return &p->params[i];
    return NULL;
}

static int bind_list_text(struct fe_plan *plan, struct fe_param *p, const char *value, struct hd_err *err)
{
    char type[HD_TEXT_MAX];
    if (value[strspn(value, " \t\r\n")] != '[')
        return HD_FAIL(err, USER, p->path, "parameter :%s: expected a JSON list of %s in brackets, found \"%.60s\"",
                       p->name, hd_type_text(p->type, type), value);
    struct fe_json_reader r = {.arena = plan->arena,
                               .err = err,
                               .class = HD_ERR_USER,
                               .prefix = hd_asprintf(plan->arena, "parameter :%s", p->name)};
    struct fe_json v;
    int rc = fe_json_open(&r, value, &v);
    if (rc == 0)
        rc = read_list(p, &v);
    fe_json_close(&r);
    return rc;
}

static int bind_text(struct fe_plan *plan, struct fe_param *p, const char *value, struct hd_err *err)
{
    char form[HD_TEXT_MAX * 2], misfit[FE_MISFIT_MAX];
    struct fe_value v;
    bool kept = p->type.kind == HD_STRING; /* other values have no part of the text */
    const char *own = kept ? hd_strdup(plan->arena, value) : value;
    if (!fe_value_parse(plan->arena, p->type, own, strlen(own), &v))
        return HD_FAIL(
            err, USER, p->path, "parameter :%s: expected %s, found \"%.60s\"%s", p->name, fe_value_form(p->type, form),
            value, value[0] == '[' ? " (a list; the parameter is one value)" : fe_value_misfit(p->type, value, misfit));
    return take(p, v, err);
}

static int bind_null(struct fe_param *p, struct hd_err *err)
{
    if (!p->nullable)
        return HD_FAIL(err, USER, p->path, "parameter :%s is null but not declared \"nullable\"", p->name);
    return take(p, (struct fe_value){.type = p->type, .is_null = true}, err);
}

/* Which parameter was meant; lives as long as *suggestion. */
static const char *suggest_param(const struct fe_plan *p, const char *name, struct hd_suggestion *suggestion)
{
    hd_suggest_init(suggestion, name);
    for (int i = 0; i < p->nparams; i++)
        hd_suggest_offer(suggestion, p->params[i].name);
    return hd_suggest_hint(suggestion);
}

int fe_plan_bind(struct fe_plan *plan, const char *name, const char *value, struct hd_err *err)
{
    struct fe_param *p = find_param(plan, name);
    struct hd_suggestion suggestion;
    if (!p)
        return HD_FAIL(err, USER, "$.params", "the plan has no parameter \"%.100s\"%s", name,
                       suggest_param(plan, name, &suggestion));
    if (!value)
        HD_TRY(bind_null(p, err));
    else if (p->is_list)
        HD_TRY(bind_list_text(plan, p, value, err));
    else
        HD_TRY(bind_text(plan, p, value, err));
    p->bound = true;
    return 0;
}

static int bind_member(struct fe_plan *plan, const struct fe_json *m)
{
    struct fe_param *p = find_param(plan, m->key);
    struct hd_suggestion suggestion;
    if (!p)
        return fe_json_fail(m, "the plan has no parameter \"%.100s\"%s", m->key,
                            suggest_param(plan, m->key, &suggestion));
    HD_TRY(fe_param_read_value(p, m));
    p->bound = true;
    return 0;
}

int fe_plan_bind_json(struct fe_plan *p, const char *json, struct hd_err *err)
{
    struct fe_json_reader r = {.arena = p->arena, .err = err, .class = HD_ERR_USER, .prefix = "parameters"};
    struct fe_json v, m;
    int rc = fe_json_open(&r, json, &v);
    if (rc == 0)
        rc = fe_json_map(&v);
    for (bool more = rc == 0 && fe_json_first(&v, &m); more && rc == 0; more = fe_json_next(&m))
        rc = bind_member(p, &m);
    fe_json_close(&r);
    return rc;
}

int fe_plan_check_bound(const struct fe_plan *p, struct hd_err *err)
{
    for (int i = 0; i < p->nparams; i++)
        if (!p->params[i].has_default && !p->params[i].bound)
            return HD_FAIL(err, USER, p->params[i].path, "parameter :%s has no default and was not given a value",
                           p->params[i].name);
    return 0;
}
