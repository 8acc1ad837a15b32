/* craft_db DB FILE SEED: changes one file of a database (catalog.json: one number of it) and
 * repairs the checksums. For scripts that try what engines make of it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/store/craft.h"

int main(int argc, char **argv)
{
    char what[128];
    if (argc != 4) {
        fprintf(stderr, "usage: craft_db DB FILE SEED\n");
        return 2;
    }
    uint64_t seed = strtoull(argv[3], NULL, 10);
    bool catalog = strcmp(argv[2], "catalog.json") == 0;
    bool ok = catalog ? craft_catalog(argv[1], &seed, what) : craft_file(argv[1], argv[2], &seed, what);
    if (!ok || !craft_seal(argv[1])) {
        fprintf(stderr, "craft_db: cannot change %s of %s\n", argv[2], argv[1]);
        return 1;
    }
    puts(what);
    return 0;
}
