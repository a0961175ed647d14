/* parameterized.h — as criterion.h beside it. */
#ifndef EMULATED_CRITERION_PARAMETERIZED_H
#define EMULATED_CRITERION_PARAMETERIZED_H

#include "criterion.h"

#define ParameterizedTestParameters(suite_, name_) \
    static struct criterion_test_params suite_##_##name_##_parameters(void)

#define ParameterizedTest(parameter, suite_, name_, ...)                                             \
    static void suite_##_##name_(parameter);                                                         \
    CRITERION_ADD(suite_##_##name_, #suite_, #name_, .run_with = (void (*)(void *))suite_##_##name_, \
                  .parameters = suite_##_##name_##_parameters, .options = {__VA_ARGS__});            \
    static void suite_##_##name_(parameter)

#define cr_make_param_array(type, array, count) ((struct criterion_test_params){sizeof(type), array, count})

#endif
