// gelu.cuh — GELU and its derivative without tanh, accurate for every input
//
// Math      gelu(v) = v / 2 (1 + tanh(u)), u = sqrt(2 / pi) (v + 0.044715 v^3). As (1 + tanh u) / 2 = 1 / (1 + exp(-2u)):
//           gelu(v) = v s,  gelu'(v) = s + v s (1 - s) 2u',  s = 1 / (1 + e),  1 - s = e s,  e = exp(-2u)
//           1 + tanh u cancels where v is far below 0; 1 + e never does. It takes one exponential and one reciprocal.
#ifndef SPEED_OF_LIGHT_GELU_CUH
#define SPEED_OF_LIGHT_GELU_CUH

#include "common/fast_math.cuh"

constexpr float gelu_2a = 1.5957691216057308f; // 2 sqrt(2 / pi)
constexpr float gelu_2b = 0.071354816f;        // the same times 0.044715
constexpr float log2_e = 1.4426950408889634f;

// e and s: by the exact functions for fp32, by two instructions for 16-bit results. e stays finite, so that e s is never
// inf * 0.
template <class T> struct gelu_parts {
    float e, s;
    __device__ explicit gelu_parts(float v) {
        e = fast_exp2(fminf(v * (-gelu_2a * log2_e + v * v * (-gelu_2b * log2_e)), 100.0f));
        s = fast_reciprocal(1.0f + e);
    }
};
template <> struct gelu_parts<float> {
    float e, s;
    __device__ explicit gelu_parts(float v) {
        e = expf(fminf(-v * (gelu_2a + gelu_2b * v * v), 70.0f));
        s = 1.0f / (1.0f + e);
    }
};

template <class T> __device__ inline float gelu(float v) {
    return v * gelu_parts<T>(v).s;
}

// fp32: where v is positive, v minus a small part, so that most digits of the result are exact.
template <> __device__ inline float gelu<float>(float v) {
    float e = gelu_parts<float>(v).e, part = (v >= 0.0f ? e : v) / (1.0f + e);
    return v >= 0.0f && part > 0.0f ? fmaf(-v, part, v) : v >= 0.0f ? v : part; // never inf * 0
}

template <class T> __device__ inline float gelu_slope(float v) {
    gelu_parts<T> part(v);
    float slope_2u = gelu_2a + 3.0f * gelu_2b * v * v;
    return part.s + v * part.s * (part.e * part.s) * slope_2u;
}

// fp32: where v is positive, 1 minus a small part, as s = 1 - e s.
template <> __device__ inline float gelu_slope<float>(float v) {
    gelu_parts<float> part(v);
    float slope_2u = gelu_2a + 3.0f * gelu_2b * v * v, other = part.e * part.s, bend = v * part.s * other;
    return v >= 0.0f ? 1.0f + fmaf(bend, slope_2u, -other) : fmaf(bend, slope_2u, part.s);
}

#endif
