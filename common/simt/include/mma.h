/* mma.h — nvcuda::wmma: products of matrices that the lanes of a warp hold together.
 *
 * The layouts. An element of a fragment belongs to one lane; CUDA does not say to which. With g = lane / 4, t = lane % 4:
 *   factors       a "line" is a row of a row-major matrix or a column of a column-major one, contiguous in memory. Of each
 *                 tile of 8 lines by 8 16-bit elements (4 for tf32) lane (g, t) holds elements 2 t and 2 t + 1 (t) of line g.
 *   accumulators  of each tile of 8 rows by 8 columns: elements 2 t and 2 t + 1 of row g.
 * The tiles are numbered along the lines first.
 *
 * Accesses. Two neighbouring 16-bit elements of a line are one access of 4 bytes; so a request of a warp covers 8 lines
 * with 16 bytes each. Neighbouring fp32 accumulators are one access of 8 bytes in row-major memory, single elements in
 * column-major memory. The functions are rendezvous points of the warp's 32 lanes: engine/matrix.c.
 */
#ifndef MMA_H
#define MMA_H

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"

#include "simt/matrix_calls.h"

namespace nvcuda {
namespace wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}

} // namespace wmma
} // namespace nvcuda

namespace simt {
namespace wmma {

using namespace nvcuda::wmma;

template <class T> struct element;
template <> struct element<__half> {
    typedef __half type;
    enum { kind = MATRIX_F16 };
};
template <> struct element<__nv_bfloat16> {
    typedef __nv_bfloat16 type;
    enum { kind = MATRIX_BF16 };
};
template <> struct element<precision::tf32> {
    typedef float type;
    enum { kind = MATRIX_TF32 };
};
template <> struct element<float> {
    typedef float type;
    enum { kind = MATRIX_F32 };
};

template <int M, int N, int K> struct shape {
    static constexpr bool of_16_bits = K == 16 && (M == 16 || M == 8 || M == 32) && M * N == 256;
    static constexpr bool of_tf32 = M == 16 && N == 16 && K == 8;
};

template <class Use, int M, int N, int K, class T, class Layout> struct is_fragment {
    static constexpr bool value = false;
};
#define SIMT_WMMA_FACTOR(use, T, allowed)                                           \
    template <int M, int N, int K> struct is_fragment<use, M, N, K, T, row_major> { \
        static constexpr bool value = shape<M, N, K>::allowed;                      \
    };                                                                              \
    template <int M, int N, int K> struct is_fragment<use, M, N, K, T, col_major> { \
        static constexpr bool value = shape<M, N, K>::allowed;                      \
    };
SIMT_WMMA_FACTOR(matrix_a, __half, of_16_bits)
SIMT_WMMA_FACTOR(matrix_b, __half, of_16_bits)
SIMT_WMMA_FACTOR(matrix_a, __nv_bfloat16, of_16_bits)
SIMT_WMMA_FACTOR(matrix_b, __nv_bfloat16, of_16_bits)
SIMT_WMMA_FACTOR(matrix_a, precision::tf32, of_tf32)
SIMT_WMMA_FACTOR(matrix_b, precision::tf32, of_tf32)
#undef SIMT_WMMA_FACTOR
template <int M, int N, int K> struct is_fragment<accumulator, M, N, K, __half, void> {
    static constexpr bool value = shape<M, N, K>::of_16_bits;
};
template <int M, int N, int K> struct is_fragment<accumulator, M, N, K, float, void> {
    static constexpr bool value = shape<M, N, K>::of_16_bits || shape<M, N, K>::of_tf32;
};

/* Rows and columns of the matrix that a fragment holds. */
template <class Use, int M, int N, int K> struct size_of;
template <int M, int N, int K> struct size_of<matrix_a, M, N, K> {
    enum { rows = M, columns = K };
};
template <int M, int N, int K> struct size_of<matrix_b, M, N, K> {
    enum { rows = K, columns = N };
};
template <int M, int N, int K> struct size_of<accumulator, M, N, K> {
    enum { rows = M, columns = N };
};

SIMT_INLINE unsigned lane() {
    return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}

/* Two elements as one word; `at` is aligned to both unless the program's pointer or leading dimension is wrong. */
template <class T> struct two { T first, second; };
template <class T> SIMT_INLINE two<T> load_two(const T *at) {
    typedef std::conditional_t<sizeof(T) == 2, uint32_t, uint64_t> Word;
    return __builtin_bit_cast(two<T>, *reinterpret_cast<const Word *>(at));
}
template <class T> SIMT_INLINE void store_two(T *at, T first, T second) {
    typedef std::conditional_t<sizeof(T) == 2, uint32_t, uint64_t> Word;
    two<T> both = {first, second};
    *reinterpret_cast<Word *>(at) = __builtin_bit_cast(Word, both);
}

} // namespace wmma
} // namespace simt

namespace nvcuda {
namespace wmma {

template <class Use, int M, int N, int K, class T, class Layout = void> class fragment {
    static_assert(simt::wmma::is_fragment<Use, M, N, K, T, Layout>::value,
                  "the CPU backend has fragments of 16x16x16, 32x8x16 and 8x32x16 (half, __nv_bfloat16) and of 16x16x8 "
                  "(precision::tf32); factors have a layout, accumulators are float, or half for half");

  public:
    typedef typename simt::wmma::element<T>::type element_type;
    typedef element_type storage_element_type;
    enum {
        simt_rows = simt::wmma::size_of<Use, M, N, K>::rows,
        simt_columns = simt::wmma::size_of<Use, M, N, K>::columns,
        /* by columns, where these are contiguous in memory */
        simt_by_columns = std::is_same<Layout, col_major>::value,
        simt_elements = simt_rows * simt_columns / 32,
    };
    static constexpr int num_elements = simt_elements, num_storage_elements = simt_elements;
    element_type x[simt_elements];
};

template <class Use, int M, int N, int K, class T, class Layout, class Value>
SIMT_INLINE void fill_fragment(fragment<Use, M, N, K, T, Layout> &target, const Value &value) {
    for (auto &element : target.x) { element = static_cast<std::decay_t<decltype(element)>>(value); }
}

/* Factors, in the fragment's own layout. */
template <class Use, int M, int N, int K, class T, class Layout, class Memory>
SIMT_INLINE void load_matrix_sync(fragment<Use, M, N, K, T, Layout> &target, const Memory *from, unsigned leading) {
    typedef fragment<Use, M, N, K, T, Layout> Fragment;
    static_assert(std::is_same<Memory, typename Fragment::element_type>::value,
                  "the types of fragment and memory differ");
    static_assert(!std::is_same<Use, accumulator>::value,
                  "an accumulator needs a layout: mem_row_major or mem_col_major");
    constexpr unsigned each = sizeof(Memory) == 2 ? 2 : 1, wide = 4 * each;
    constexpr unsigned length = Fragment::simt_by_columns ? Fragment::simt_rows : Fragment::simt_columns;
    simt_begin_matrix(from, leading * sizeof(Memory), sizeof(Memory), SIMT_LOAD_MATRIX);
    unsigned g = simt::wmma::lane() / 4, t = simt::wmma::lane() % 4, tiles = length / wide;
    for (unsigned i = 0; i < Fragment::simt_elements / each; i++) {
        const Memory *at = from + (i / tiles * 8 + g) * static_cast<size_t>(leading) + i % tiles * wide + each * t;
        if constexpr (each == 2) {
            simt::wmma::two<Memory> both = simt::wmma::load_two(at);
            target.x[2 * i] = both.first;
            target.x[2 * i + 1] = both.second;
        } else {
            target.x[i] = *at;
        }
    }
}

/* Accumulators, in the layout of the memory. */
template <int M, int N, int K, class T>
SIMT_INLINE void load_matrix_sync(fragment<accumulator, M, N, K, T> &target, const T *from, unsigned leading,
                                  layout_t layout) {
    simt_begin_matrix(from, leading * sizeof(T), sizeof(T), SIMT_LOAD_MATRIX);
    unsigned g = simt::wmma::lane() / 4, t = simt::wmma::lane() % 4;
    constexpr unsigned tiles = N / 8;
    for (unsigned i = 0; i < target.num_elements / 2; i++) {
        size_t row = i / tiles * 8 + g, column = i % tiles * 8 + 2 * t;
        if (layout == mem_row_major) {
            simt::wmma::two<T> both = simt::wmma::load_two(from + row * leading + column);
            target.x[2 * i] = both.first;
            target.x[2 * i + 1] = both.second;
        } else {
            target.x[2 * i] = from[column * leading + row];
            target.x[2 * i + 1] = from[(column + 1) * leading + row];
        }
    }
}

template <int M, int N, int K, class T>
SIMT_INLINE void store_matrix_sync(T *to, const fragment<accumulator, M, N, K, T> &source, unsigned leading,
                                   layout_t layout) {
    simt_begin_matrix(to, leading * sizeof(T), sizeof(T), SIMT_STORE_MATRIX);
    unsigned g = simt::wmma::lane() / 4, t = simt::wmma::lane() % 4;
    constexpr unsigned tiles = N / 8;
    for (unsigned i = 0; i < source.num_elements / 2; i++) {
        size_t row = i / tiles * 8 + g, column = i % tiles * 8 + 2 * t;
        if (layout == mem_row_major) {
            simt::wmma::store_two(to + row * leading + column, source.x[2 * i], source.x[2 * i + 1]);
        } else {
            to[column * leading + row] = source.x[2 * i];
            to[(column + 1) * leading + row] = source.x[2 * i + 1];
        }
    }
}

/* d = a b + c. The factors have one type; c and d may differ. */
template <int M, int N, int K, class T, class LayoutA, class LayoutB, class D, class C>
SIMT_INLINE void mma_sync(fragment<accumulator, M, N, K, D> &d, const fragment<matrix_a, M, N, K, T, LayoutA> &a,
                          const fragment<matrix_b, M, N, K, T, LayoutB> &b, const fragment<accumulator, M, N, K, C> &c,
                          bool saturate = false) {
    (void)saturate;
    static constexpr simt_fragments shape = {M,
                                             N,
                                             K,
                                             simt::wmma::element<T>::kind,
                                             simt::wmma::element<C>::kind,
                                             simt::wmma::element<D>::kind,
                                             std::is_same<LayoutA, col_major>::value,
                                             std::is_same<LayoutB, col_major>::value};
    simt_multiply_fragments(&shape, d.x, a.x, b.x, c.x);
}

/* tf32: the 10 bits of mantissa that a product uses, rounded to nearest, ties away from zero. */
SIMT_INLINE float __float_to_tf32(float value) {
    unsigned bits = __float_as_uint(value);
    return (bits & 0x7f800000) == 0x7f800000 ? value : __uint_as_float((bits + 0x1000) & 0xffffe000);
}

} // namespace wmma
} // namespace nvcuda

#endif
