/* cache.h — loads and stores with a cache hint. Caches are not modelled: these are plain accesses and counted as such. */
#ifndef SIMT_CACHE_H
#define SIMT_CACHE_H

#include "boundary.h"
#include "vector.h"

#define SIMT_LOAD(name, T)                 \
    SIMT_INLINE T name(const T *address) { \
        return *address;                   \
    }
#define SIMT_STORE(name, T)                      \
    SIMT_INLINE void name(T *address, T value) { \
        *address = value;                        \
    }
#define SIMT_CACHE(T)     \
    SIMT_LOAD(__ldg, T)   \
    SIMT_LOAD(__ldca, T)  \
    SIMT_LOAD(__ldcg, T)  \
    SIMT_LOAD(__ldcs, T)  \
    SIMT_LOAD(__ldcv, T)  \
    SIMT_LOAD(__ldlu, T)  \
    SIMT_STORE(__stwb, T) \
    SIMT_STORE(__stcg, T) \
    SIMT_STORE(__stcs, T) \
    SIMT_STORE(__stwt, T)

SIMT_CACHE(char)
SIMT_CACHE(signed char)
SIMT_CACHE(unsigned char)
SIMT_CACHE(short)
SIMT_CACHE(unsigned short)
SIMT_CACHE(int)
SIMT_CACHE(unsigned int)
SIMT_CACHE(long)
SIMT_CACHE(unsigned long)
SIMT_CACHE(long long)
SIMT_CACHE(unsigned long long)
SIMT_CACHE(float)
SIMT_CACHE(double)
SIMT_CACHE(char2)
SIMT_CACHE(char4)
SIMT_CACHE(uchar2)
SIMT_CACHE(uchar4)
SIMT_CACHE(short2)
SIMT_CACHE(short4)
SIMT_CACHE(ushort2)
SIMT_CACHE(ushort4)
SIMT_CACHE(int2)
SIMT_CACHE(int4)
SIMT_CACHE(uint2)
SIMT_CACHE(uint4)
SIMT_CACHE(longlong2)
SIMT_CACHE(ulonglong2)
SIMT_CACHE(float2)
SIMT_CACHE(float4)
SIMT_CACHE(double2)

/* Address spaces of generic pointers. */
extern "C" {
unsigned __isGlobal(const void *pointer) SIMT_NOTHROW;
unsigned __isShared(const void *pointer) SIMT_NOTHROW;
unsigned __isLocal(const void *pointer) SIMT_NOTHROW;
unsigned __isConstant(const void *pointer) SIMT_NOTHROW;
size_t __cvta_generic_to_shared(const void *pointer) SIMT_NOTHROW;
}
SIMT_INLINE size_t __cvta_generic_to_global(const void *pointer) {
    return reinterpret_cast<size_t>(pointer);
}

#endif
