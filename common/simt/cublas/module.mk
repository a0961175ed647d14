# The backend's cuBLAS, over OpenBLAS: two libraries, as of libsimt. Only lab 4 needs it (tools/install.sh gpt2).
#   $(BUILD)/simt/libsimt_cublas_checked.a, libsimt_cublas_fast.a: before libsimt_*.a on the link line, and -lopenblas

SIMT_CUBLAS_NAMES   := $(notdir $(basename $(wildcard $(SIMT)/cublas/*.c)))
SIMT_CUBLAS_CHECKED := $(BUILD)/simt/libsimt_cublas_checked.a
SIMT_CUBLAS_FAST    := $(BUILD)/simt/libsimt_cublas_fast.a

$(SIMT_CUBLAS_CHECKED): $(SIMT_CUBLAS_NAMES:%=$(BUILD)/simt/checked/cublas/%.c.o)
	@rm -f $@
	$(AR) rcs $@ $^

$(SIMT_CUBLAS_FAST): $(SIMT_CUBLAS_NAMES:%=$(BUILD)/simt/fast/cublas/%.c.o)
	@rm -f $@
	$(AR) rcs $@ $^
	$(OBJCOPY) --rename-section .text=simt_text $@

$(foreach name,multiply stream bf16,$(BUILD)/simt/checked/cublas/$(name).c.o $(BUILD)/simt/fast/cublas/$(name).c.o): HOST_C += -O3

-include $(wildcard $(BUILD)/simt/checked/cublas/*.d $(BUILD)/simt/fast/cublas/*.d)
