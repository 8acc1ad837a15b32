/* Stands in for a fuzz engine: runs the target on every file of the given folders, on every
 * shorter prefix at a few cuts, and on a few seeded mutations of it: of its bytes, or the target's
 * own where it has some. An argument -seed=N gives other mutations. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) __attribute__((weak));
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static int files, inputs;
static uint64_t first_state = 88172645463325252u; /* of random numbers */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    static uint64_t state;
    (void)max;
    state = state ? state : first_state;
    if (size)
        data[next_random(&state) % size] = (uint8_t)next_random(&state);
    return size;
}

enum { CUTS = 8, MUTATIONS = 24 };

static void run_input(const uint8_t *data, size_t n)
{
    inputs++;
    LLVMFuzzerTestOneInput(data, n);
}

static void run_own_mutations(const uint8_t *data, size_t n)
{
    enum { MORE = 1 << 16 };
    uint8_t *copy = malloc(n + MORE);
    if (!copy)
        abort();
    for (unsigned i = 0; i < MUTATIONS; i++) {
        memcpy(copy, data, n);
        unsigned seed = i + (unsigned)n + (unsigned)first_state;
        run_input(copy, LLVMFuzzerCustomMutator(copy, n, n + MORE, seed));
    }
    free(copy);
}

static void run_variants(const uint8_t *data, size_t n)
{
    uint64_t seed = first_state + n;
    uint8_t *copy = malloc(n + 1);
    if (!copy)
        abort();
    if (LLVMFuzzerCustomMutator)
        run_own_mutations(data, n);
    run_input(data, n);
    for (size_t i = 1; i < CUTS; i++)
        run_input(data, n * i / CUTS);
    for (int i = 0; n && i < MUTATIONS; i++) {
        memcpy(copy, data, n);
        for (int k = 0; k <= i % 3; k++) {
            size_t at = (size_t)(next_random(&seed) % n);
            copy[at] = (uint8_t)(i % 2 ? data[next_random(&seed) % n] : next_random(&seed));
        }
        run_input(copy, n);
    }
    free(copy);
}

static int run_file(const char *path)
{
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (!f || fstat(fileno(f), &st) != 0) {
        fprintf(stderr, "cannot read %s\n", path);
        return 1;
    }
    int rc = 0;
    if (S_ISREG(st.st_mode)) {
        uint8_t *data = malloc((size_t)st.st_size + 1);
        size_t n = data ? fread(data, 1, (size_t)st.st_size, f) : 0;
        rc = n != (size_t)st.st_size;
        run_variants(data, n);
        free(data);
        files++;
    }
    fclose(f);
    return rc;
}

static int run_folder(const char *folder)
{
    DIR *d = opendir(folder);
    int bad = 0;
    if (!d) {
        fprintf(stderr, "cannot read %s\n", folder);
        return 1;
    }
    for (struct dirent *e; (e = readdir(d));) {
        char path[2048];
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        bad += run_file(path);
    }
    closedir(d);
    return bad;
}

int main(int argc, char **argv)
{
    int bad = 0;
    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "-seed=", 6) == 0)
            first_state += UINT64_C(0x9e3779b97f4a7c15) * strtoull(argv[i] + 6, NULL, 10);
        else
            bad += run_folder(argv[i]);
    printf("%d files, %d inputs\n", files, inputs);
    return bad || !files;
}
