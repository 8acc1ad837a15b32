/* mutate_plan SEED <PLAN: the plan with a few seeded mutations (fuzz_mutate.c), for scripts that run it. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

/* What the mutator asks for where it has nothing better: a byte is lost. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    (void)data;
    (void)max;
    return size ? size - 1 : 0;
}

int main(int argc, char **argv)
{
    enum { MAX = 1 << 20 };
    static uint8_t text[MAX];
    if (argc != 2) {
        fprintf(stderr, "usage: mutate_plan SEED <PLAN\n");
        return 2;
    }
    size_t n = fread(text, 1, MAX, stdin);
    n = LLVMFuzzerCustomMutator(text, n, MAX, (unsigned)strtoul(argv[1], NULL, 10));
    return fwrite(text, 1, n, stdout) != n;
}
