/* Which GPUs a context has. */
#include <stdlib.h>
#include <string.h>

#include "api/api_backend.h"
#include "api/api_internal.h"

/* For tests of several devices on a machine with one: a GPU may be named more than once. */
static bool may_repeat(void)
{
    const char *text = secure_getenv("HEDDLE_SAME_DEVICE");
    return text && strcmp(text, "1") == 0;
}

static int read_all(int devices[RT_MAX_DEVICES], int *n)
{
    *n = HD_MIN(HD_MAX(api_backends_devices(), 1), (int)RT_MAX_DEVICES);
    for (int i = 0; i < *n; i++)
        devices[i] = i;
    return 0;
}

static int add(int devices[RT_MAX_DEVICES], int *n, int number, struct hd_err *err)
{
    for (int i = 0; i < *n; i++)
        if (devices[i] == number && !may_repeat())
            return HD_FAIL(err, USER, NULL, "device: number %d is named twice", number);
    if (*n == RT_MAX_DEVICES)
        return HD_FAIL(err, USER, NULL, "device: expected %d numbers at most", (int)RT_MAX_DEVICES);
    devices[(*n)++] = number;
    return 0;
}

static int bad_list(const char *list, struct hd_err *err)
{
    return HD_FAIL(err, USER, NULL, "device: expected a number, several such as 0,1, or all, found \"%s\"", list);
}

static int read_list(const char *list, int devices[RT_MAX_DEVICES], int *n, struct hd_err *err)
{
    enum { DIGITS = 4 };
    *n = 0;
    for (const char *p = list;;) {
        size_t digits = strspn(p, "0123456789");
        if (digits < 1 || digits > DIGITS || (p[digits] && p[digits] != ','))
            return bad_list(list, err);
        HD_TRY(add(devices, n, atoi(p), err));
        if (!p[digits])
            return 0;
        p += digits + 1;
    }
}

/* One alone may be missing as long as nothing runs on it, and so may all where the machine has none: plans can be explained
 * without. */
static int check_list(const int *devices, int n, struct hd_err *err)
{
    int count = n > 1 ? api_backends_devices() : 0;
    for (int i = 0; i < n && count; i++)
        if (devices[i] >= count)
            return HD_FAIL(err, RESOURCE, NULL, "device: there is no GPU %d, this machine has %d", devices[i], count);
    return 0;
}

int api_devices_read(const heddle_options *o, int devices[RT_MAX_DEVICES], int *n, struct hd_err *err)
{
    if (o->devices && strcmp(o->devices, "all") == 0)
        return read_all(devices, n);
    if (o->devices) {
        HD_TRY(read_list(o->devices, devices, n, err));
        return check_list(devices, *n, err);
    }
    if (o->device < 0)
        return HD_FAIL(err, USER, NULL, "device: expected 0 or more, found %d", o->device);
    devices[0] = o->device;
    *n = 1;
    return 0;
}

/* The driver is asked only where several were named, which has opened it. */
double api_devices_link(const int *devices, int n)
{
    return n > 1 ? api_backends_link(devices, n) : 0;
}
