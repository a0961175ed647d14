/* elements.h — the 16-bit types in plain C. Host code keeps values as floats, which represent every value of
 * these types exactly. The types appear only where values are rounded, or packed into the bytes that a kernel accesses.
 *
 * Rounding is to nearest even, in one step, also from double.
 */
#ifndef ELEMENTS_H
#define ELEMENTS_H

#include "ops.h"

/* The nearest value of the type; infinite beyond its largest. */
double element_round(enum op_type type, double value);

/* The distance between the type's values around |value|; 0 when it is not finite. */
double element_ulp(enum op_type type, double value);

/* `count` values of a tensor to and from its bytes. They are rounded to the tensor's element; ints are truncated. */
void elements_pack(enum op_element element, enum op_type type, const float *values, size_t count, void *bytes);
void elements_unpack(enum op_element element, enum op_type type, const void *bytes, size_t count, float *values);

/* The type of a tensor's values: T, or float. */
enum op_type element_type(const struct op *op, int tensor, enum op_type type);

#endif
