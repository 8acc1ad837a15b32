// Integers and floats by width. C as well as C++: the first thing in machine.cuh and host.h.
#ifndef HDD_TYPES_CUH
#define HDD_TYPES_CUH

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef __int128 i128;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned __int128 u128;
typedef double f64;
typedef float f32;

#endif
