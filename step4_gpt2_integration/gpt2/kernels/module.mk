# Kernel sets (table.h): $(BUILD)/gpt2/$(BACKEND)/kernels/kernels_NAME.so from a folder of .cu files. The loader and the model
# are in model/module.mk. `make kernels-lab` builds the set of the learner's files in lab/step3_fused. In a handout the course is a
# folder of lab/, and has no reference set.
#
# CPU backend: the fast build. A set uses the runtime that the program exports, so it is linked without libraries. -nodefaultlibs keeps
# gcc's __morestack out of it, because the backend has its own.

GPT2_OUT        := $(BUILD)/gpt2/$(BACKEND)
GPT2_TESTS_OUT  := $(if $(filter cpu,$(BACKEND)),$(BUILD)/tests,$(BUILD)/cuda/tests)
GPT2_LAB        := $(if $(wildcard $(COURSE)/lab/step3_fused),lab,..)
GPT2_SET_naive  := step4_gpt2_integration/gpt2/kernels/naive
GPT2_SET_reference := step3_fused/solution
GPT2_SETS       := $(foreach set,naive reference,$(if $(wildcard $(COURSE)/$(GPT2_SET_$(set))/*.cu),$(set)))
# The ops that the model calls, and training's.
GPT2_SET_FILES  := layernorm residual_layernorm bias_gelu causal_softmax \
    layernorm_backward residual_layernorm_backward bias_gelu_backward causal_softmax_backward

ifeq ($(BACKEND),cpu)
GPT2_CUDA_INCLUDE := -isystem $(SIMT)/include
GPT2_SET_COMPILE   = BUILD=$(BUILD) CXX=$(CXX) $(SIMT_CC) --fast -fPIC -ftls-model=initial-exec -fvisibility=hidden -O2 \
    -Wall -Wno-sign-compare -Wno-maybe-uninitialized -I$(COURSE) $(GPT2_INCLUDE) -I$(COURSE)/common -MMD -MP -MF $(@:.o=.d) -MT $@ -o $@ $<
GPT2_SET_LINK      = $(CXX) -shared -nodefaultlibs -o $@ $^ -lstdc++ -lm -lc -l:libgcc_s.so.1
GPT2_CU_NEEDS      = $(SIMT_CC_NEEDS) $(SIMT_HEADERS)
else
GPT2_CUDA_INCLUDE := -isystem $(dir $(NVCC))../include
CUDA_ARCH         ?= $(if $(wildcard /dev/nvidia0),native,all-major)
GPT2_SET_COMPILE   = $(NVCC) -std=c++17 -O3 -arch=$(CUDA_ARCH) -lineinfo -I$(COURSE) $(GPT2_INCLUDE) -I$(COURSE)/common \
    -Xcompiler -fPIC,-fvisibility=hidden,-Wall -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $<
GPT2_SET_LINK      = $(NVCC) -shared -cudart shared -arch=$(CUDA_ARCH) -o $@ $^
GPT2_CU_NEEDS     :=
endif

# $(1): the set's name; $(2): its folder; $(3): its files, as far as they are there
define gpt2_kernel_set
$(3:%=$(GPT2_OUT)/$(1)/%.o): $(GPT2_OUT)/$(1)/%.o: $(COURSE)/$(2)/%.cu $(GPT2_CU_NEEDS)
	@mkdir -p $$(@D)
	$$(GPT2_SET_COMPILE)

$(GPT2_OUT)/$(1)/table.o: $(GPT2_DIR)/kernels/table.c
	@mkdir -p $$(@D)
	$(GPT2_HOST_C) $(GPT2_CUDA_INCLUDE) -fPIC -DKERNEL_SET='"$(1)"' -c -o $$@ $$<

$(GPT2_OUT)/kernels/kernels_$(1).so: $(3:%=$(GPT2_OUT)/$(1)/%.o) $(GPT2_OUT)/$(1)/table.o
	@mkdir -p $$(@D)
	@realpath $(3:%=$(COURSE)/$(2)/%.cu) >$$@.sources # see program/stale.c
	$$(GPT2_SET_LINK)
endef
gpt2_set_names = $(filter $(GPT2_SET_FILES),$(basename $(notdir $(wildcard $(COURSE)/$(1)/*.cu))))
$(foreach set,$(GPT2_SETS),$(eval $(call gpt2_kernel_set,$(set),$(GPT2_SET_$(set)),$(call gpt2_set_names,$(GPT2_SET_$(set))))))

# The learner's set is not built with the others, because it may not compile yet. Ops that it lacks come from the reference set, or from
# the naive set where there is no reference.
ifneq ($(wildcard $(COURSE)/$(GPT2_LAB)/step3_fused),)
$(eval $(call gpt2_kernel_set,lab,$(GPT2_LAB)/step3_fused,$(call gpt2_set_names,$(GPT2_LAB)/step3_fused)))
.PHONY: kernels-lab
kernels-lab: $(GPT2_OUT)/kernels/kernels_lab.so
endif

GPT2_KERNELS := $(GPT2_SETS:%=$(GPT2_OUT)/kernels/kernels_%.so)
-include $(wildcard $(GPT2_OUT)/*/*.d)
