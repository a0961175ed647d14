/* digits.cpp — the error of a float output as a whole. Errors that are all to the same side pass each element's tolerance. */
#include "probe.h"

#include <string.h>

int digits_are_kept(const op *op, op_type type) {
    static const int shapes[][2] = {{64, 768}, {64, 1600}, {32, 4096}, {16, 16384}};
    const double allowed = 3e-7;
    int wrong = 0;
    if (type != TYPE_F32 || !strstr(op->name, "layernorm") || !strstr(op->name, "forward")) { return 0; }
    for (const int *shape : shapes) {
        reference_case asked;
        asked.sizes = reference_sizes(op, type, shape[0], shape[1]);
        reference_call call(op, asked);
        if (call_is_wrong(call, op, asked)) { return wrong + 1; }
        for (int i = 0; i < op_tensor_count(op); i++) {
            if (!op_is_output(op, i) || call.distance(i) <= allowed) { continue; }
            wrong += complain(op, asked, "%s is off by %.1e of its norm", op->tensor[i].name, call.distance(i));
        }
    }
    return wrong;
}
