/* heddle-nvrtc: compiles for a Heddle library that runs in another process. */
#include "runtime/gpu/compile_server.h"

int main(int argc, char **argv)
{
    return rt_compile_server(argc, argv);
}
