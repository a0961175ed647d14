/* The MFU of gpt2 train: operations per token, and the table of GPUs. */
#define _GNU_SOURCE
#include "gpt2/program/train.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(train_report, .timeout = 60);

static struct train_report started(const char *type, const char *device) {
    struct train_report report;
    train_report_start(&report, gpt2_config_named("124M"), type, device, 1024, 10);
    return report;
}

Test(train_report, operations_of_124M) {
    struct train_report report = started("bf16", "NVIDIA H200, cuBLASLt 130000");
    double blocks = 12.0 * 12.0 * 768.0 * 768.0, logits = 50257.0 * 768.0, attention = 12.0 * 12.0 * 768.0 * 1024.0;
    cr_assert(fabs(report.flops / (6.0 * (blocks + logits) + attention) - 1.0) < 1e-12);
    cr_assert(fabs(100.0 * report.flops * 376e3 / report.peak - 32.5) < 0.1, "%g", report.flops); /* of 989 TFLOP/s */
}

Test(train_report, a_peak_is_that_of_the_very_device_or_none) {
    cr_assert(started("f32", "NVIDIA H200, cuBLASLt 130000").peak == 67e12);
    cr_assert(started("tf32", "NVIDIA H100 80GB HBM3, cuBLASLt 130000").peak == 494.5e12);
    cr_assert(started("bf16", "NVIDIA H100 PCIe, cuBLASLt 130000").peak == 756e12);
    cr_assert(started("bf16", "NVIDIA A100-SXM4-80GB, cuBLASLt 130000").peak == 312e12);
    cr_assert(started("bf16", "NVIDIA A10, cuBLASLt 130000").peak == 125e12);
    cr_assert(started("bf16", "NVIDIA L40S, cuBLASLt 130000").peak == 362e12);
    cr_assert(started("bf16", "NVIDIA L4, cuBLASLt 130000").peak == 121e12);
    cr_assert(started("bf16", "NVIDIA A10G, cuBLASLt 130000").peak == 0.0);
    cr_assert(started("bf16", "CPU backend, cuBLASLt 130000").peak == 0.0);
}
