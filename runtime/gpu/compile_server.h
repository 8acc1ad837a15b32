/* A process that compiles: NVRTC parses one source at a time in a process, so that several
 * threads of one wait for each other. */
#ifndef HEDDLE_RUNTIME_GPU_COMPILE_SERVER_H
#define HEDDLE_RUNTIME_GPU_COMPILE_SERVER_H

/* The arguments that a server is started with: NVRTC's library; "cubin" or "ptx"; an architecture,
 * 0 for none, to say hello only. Its standard input is the control socket (compile_wire.h). Returns
 * the exit status. The process is the server's alone. */
int rt_compile_server(int argc, char **argv);

#endif
