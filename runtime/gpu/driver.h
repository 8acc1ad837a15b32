/* The CUDA driver, opened at run time: one binary runs with and without it. Types are declared
 * here as far as they are used; building needs no CUDA toolkit. */
#ifndef HEDDLE_RUNTIME_GPU_DRIVER_H
#define HEDDLE_RUNTIME_GPU_DRIVER_H

#include "runtime/base/err.h"

typedef int cu_device;
typedef struct cu_context_opaque *cu_context;
typedef struct cu_module_opaque *cu_module;
typedef struct cu_function_opaque *cu_function;
typedef struct cu_stream_opaque *cu_stream;
typedef struct cu_event_opaque *cu_event;
typedef struct cu_link_opaque *cu_link;
typedef struct cu_graph_opaque *cu_graph;
typedef struct cu_graph_node_opaque *cu_graph_node;
typedef struct cu_graph_exec_opaque *cu_graph_exec; /* a graph that can be launched */

/* CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMSET_NODE_PARAMS_v1 and CUlaunchAttributeValue of the driver's interface. */
struct cu_kernel_node {
    cu_function f;
    unsigned gx, gy, gz, bx, by, bz, shared_bytes;
    void **params, **extra;
    void *kernel;
    cu_context context;
};
struct cu_set_node {
    uint64_t to;
    size_t pitch;
    unsigned value, element_bytes;
    size_t width, height;
};
union cu_attribute_value {
    char all[64];
    int cooperative;
};
enum { CU_ATTRIBUTE_COOPERATIVE = 2 };

/* Numbers of the driver's interface. */
enum { CU_OUT_OF_MEMORY = 2, CU_NOT_READY = 600, CU_PEER_ALREADY_ENABLED = 704 };
/* Errors after which a context fails every call: X(name, number). */
#define CU_FATAL(X) \
    X(ECC, 214) \
    X(NVLINK, 220) \
    X(ILLEGAL_ADDRESS, 700) \
    X(LAUNCH_TIMEOUT, 702) \
    X(CONTEXT_IS_DESTROYED, 709) \
    X(ASSERT, 710) \
    X(HARDWARE_STACK, 714) \
    X(ILLEGAL_INSTRUCTION, 715) \
    X(MISALIGNED_ADDRESS, 716) \
    X(INVALID_ADDRESS_SPACE, 717) \
    X(INVALID_PC, 718) \
    X(LAUNCH_FAILED, 719)
enum cu_device_attribute {
    CU_MAX_SHARED_BYTES = 97, /* of a block, after opting in */
    CU_MULTIPROCESSORS = 16,
    CU_MEMORY_KHZ = 36,
    CU_MEMORY_BITS = 37,
    CU_L2_BYTES = 38,
    CU_MAX_THREADS = 39, /* of a multiprocessor */
    CU_ARCH_MAJOR = 75,
    CU_ARCH_MINOR = 76,
    CU_COOPERATIVE = 95
};
/* Of two devices. */
enum { CU_P2P_ACCESS = 2, CU_P2P_ATOMICS = 3 };
enum cu_function_attribute {
    CU_FUNC_SHARED_BYTES = 1,
    CU_FUNC_LOCAL_BYTES = 3,
    CU_FUNC_REGISTERS = 4,
    CU_FUNC_MAX_DYNAMIC_SHARED = 8
};
/* Options and inputs of the linker. */
enum { CU_JIT_ERROR_LOG = 5, CU_JIT_ERROR_LOG_BYTES = 6, CU_INPUT_CUBIN = 0, CU_INPUT_PTX = 1 };
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DISABLE_TIMING = 2 };
enum { CU_POINTER_MEMORY_TYPE = 2 };
enum { CU_HOST_ALLOC_PORTABLE = 1, CU_HOST_REGISTER_PORTABLE = 1 };

struct rt_driver {
    int version, ndevices;
#define DRIVER(name, symbol, arguments) int(*name) arguments;
#include "runtime/gpu/driver.def"
};

/* The driver, opened and initialised once per process. RESOURCE with the reason if there is none,
 * the same every time: no library, no device, a driver that is too old. */
int rt_driver_get(const struct rt_driver **out, struct hd_err *err);
/* False: the system has no device of NVIDIA's, which is known without loading the driver. */
bool rt_driver_has_device_files(void);
/* "CUDA_ERROR_INVALID_VALUE: invalid argument"; static text of the driver, cut to n. */
void rt_driver_error(const struct rt_driver *d, int code, char *text, size_t n);

/* Name, architecture and memory of device `number`, for reports. */
struct rt_driver_device {
    char name[128];
    int arch; /* 90 = 9.0 */
    uint64_t memory;
};
int rt_driver_device(const struct rt_driver *d, int number, struct rt_driver_device *out);
/* Whether all pairs of these devices, two at least that differ, have a link of their own (NVLink) and not PCIe alone: atomic operations of
 * the one on memory of the other are native only there. */
bool rt_driver_has_links(const struct rt_driver *d, const int *numbers, int n);

#endif
