/* Table date: 2556 days from 1992-01-01 on. Everything follows from the calendar; nothing is drawn. */
#include "ssb/gen_ssb.h"

#include "tpch/gen_format.h"

static const int days_before[13] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};

enum { WINTER, SPRING, SUMMER, FALL, CHRISTMAS }; /* seasons */

static bool is_leap(int year)
{
    return year % 4 == 0; /* 1992 .. 1998 */
}

static int days_of(int year, int month)
{
    return days_before[month] - days_before[month - 1] + (month == 2 && is_leap(year));
}

void tg_ssb_init(struct tg_gen *g)
{
    int year = 1992, month = 1, day = 1;
    for (int i = 0; i < TG_CALENDAR_DAYS; i++) {
        g->date_key[i] = 10000 * year + 100 * month + day;
        if (++day <= days_of(year, month))
            continue;
        day = 1;
        year += month == 12;
        month = month % 12 + 1;
    }
    /* 200,000 parts times 1 + floor(log2 of the scale factor), which is the number of its binary digits. */
    if (g->scale > 1)
        g->parts = 200000 * (64 - __builtin_clzll((unsigned long long)g->scale));
}

struct date {
    int key, year, month, day;
    int of_year; /* from 1 */
    int weekday; /* 0: Sunday */
};

static struct date date_of(const struct tg_gen *g, int64_t i)
{
    struct date d = {.key = g->date_key[i]};
    d.year = d.key / 10000;
    d.month = d.key / 100 % 100;
    d.day = d.key % 100;
    d.of_year = days_before[d.month - 1] + d.day + (d.month > 2 && is_leap(d.year));
    d.weekday = (int)((TG_DAY_0 + i + 4) % 7); /* 1970-01-01 was a Thursday */
    return d;
}

static int season_of(int month)
{
    return month <= 3 ? WINTER : month == 4 ? SPRING : month <= 8 ? SUMMER : month <= 10 ? FALL : CHRISTMAS;
}

/* Public holidays of the United States that keep their date. */
static bool is_holiday(const struct date *d)
{
    static const int holidays[] = {101, 704, 1111, 1225};
    const int key = 100 * d->month + d->day;
    for (size_t i = 0; i < sizeof holidays / sizeof holidays[0]; i++)
        if (holidays[i] == key)
            return true;
    return false;
}

static int32_t number_of(const struct date *d, int column)
{
    switch (column) {
    case TG_SSB_D_DATEKEY: return d->key;
    case TG_SSB_D_YEAR: return d->year;
    case TG_SSB_D_YEARMONTHNUM: return d->key / 100;
    case TG_SSB_D_DAYNUMINWEEK: return d->weekday + 1;
    case TG_SSB_D_DAYNUMINMONTH: return d->day;
    case TG_SSB_D_DAYNUMINYEAR: return d->of_year;
    case TG_SSB_D_MONTHNUMINYEAR: return d->month;
    case TG_SSB_D_WEEKNUMINYEAR: return (d->of_year - 1) / 7 + 1;
    case TG_SSB_D_LASTDAYINWEEKFL: return d->weekday == 6;
    case TG_SSB_D_LASTDAYINMONTHFL: return d->day == days_of(d->year, d->month);
    case TG_SSB_D_HOLIDAYFL: return is_holiday(d);
    case TG_SSB_D_WEEKDAYFL: return d->weekday != 0 && d->weekday != 6;
    }
    return 0;
}

static uint8_t code_of(const struct date *d, int column)
{
    if (column == TG_SSB_D_DAYOFWEEK)
        return (uint8_t)d->weekday;
    return (uint8_t)(column == TG_SSB_D_MONTH ? d->month - 1 : season_of(d->month));
}

/* "March 7, 1998", or "Mar1998". */
static char *put_text(char *p, const struct date *d, int column)
{
    const struct tg_word *month = &tg_dists[TG_D_months].words[d->month - 1];
    if (column == TG_SSB_D_YEARMONTH)
        return tg_put_u32(tg_put_bytes(p, month->text, 3), (uint32_t)d->year);
    p = tg_put_word(p, month);
    *p++ = ' ';
    p = tg_put_u32(p, (uint32_t)d->day);
    *p++ = ',';
    *p++ = ' ';
    return tg_put_u32(p, (uint32_t)d->year);
}

static void put_value(struct tg_column *out, const struct date *d, int column, int64_t i)
{
    switch (tg_columns[column].kind) {
    case TG_I32: out->i32[i] = number_of(d, column); break;
    case TG_CODE: out->code[i] = code_of(d, column); break;
    case TG_TEXT:
        out->offsets[i + 1] = (int32_t)(put_text(out->bytes + out->offsets[i], d, column) - out->bytes);
        break;
    case TG_I64:
    case TG_MONEY:
    case TG_DAY: break; /* no such column in this table */
    }
}

void tg_produce_ssb_date(const struct tg_gen *g, const struct tg_range *r, struct tg_batch *b)
{
    for (int c = TG_SSB_D_DATEKEY; c < tg_first_column(TG_SSB_DATE + 1); c++) {
        if (!tg_wants(b, TG_BIT(c)))
            continue;
        struct tg_column *out = tg_column_of(b, c);
        if (tg_columns[c].kind == TG_TEXT)
            out->offsets[0] = 0;
        for (int64_t i = 0; i < r->rows; i++) {
            const struct date d = date_of(g, r->unit_begin + i);
            put_value(out, &d, c, i);
        }
    }
}
