# The course's kernels as a shared library for Python, from the .cu files of the labs' solutions:
#
#   make pytorch-cpu     build/pytorch/libcourse_kernels_cpu.so: the fast CPU backend, and its runtime
#   make pytorch-cuda    build/pytorch/libcourse_kernels_cuda.so; CUDA_ARCH is nvcc's -arch (default: native where there is a GPU,
#                        else all-major)
#   make pytorch         the first, and the second where there is nvcc and a GPU
#   make test-pytorch    the tests of the Python side; PYTHON= names the interpreter
#
# KERNELS=FOLDER, such as lab/step3_fused: a file of that folder replaces the solution's of the same name. The libraries are
# then in build/pytorch/own.

PYTORCH_DIR     := step4_gpt2_integration/pytorch
PYTORCH_OUT     := $(BUILD)/pytorch$(if $(KERNELS),/own)
PYTORCH_FILES   := softmax softmax_backward causal_softmax causal_softmax_backward layernorm layernorm_backward \
    residual_layernorm residual_layernorm_backward layernorm_residual layernorm_residual_backward \
    bias_gelu bias_gelu_backward three_way_add
PYTORCH_SOURCES := $(foreach file,$(PYTORCH_FILES),$(firstword $(if $(KERNELS),$(wildcard $(KERNELS)/$(file).cu)) \
    $(wildcard $(COURSE)/step3_fused/solution/$(file).cu)))
PYTORCH_SHIMS   := $(addprefix $(GPT2_DIR)/model/,attention_fused.cu attention_fused_backward.cu attention_warpgroup.cu \
    attention_warpgroup_backward.cu) \
    $(COURSE)/$(PYTORCH_DIR)/library/attention.cu
PYTORCH_EXPORTS := $(COURSE)/$(PYTORCH_DIR)/library/exports.map
PYTORCH_NAMES   := $(notdir $(basename $(PYTORCH_SOURCES) $(PYTORCH_SHIMS)))
PYTORCH_LIBRARY := $(BUILD)/pytorch/libcourse_kernels
PYTORCH_FLAGS   := -I$(COURSE) $(GPT2_INCLUDE) -DSCRATCH_FROM_CALLER
PYTORCH_LISTED  := $(foreach source,$(PYTORCH_SOURCES) $(PYTORCH_SHIMS),\
    $(notdir $(source))=$(patsubst $(COURSE)/%,%,$(patsubst %/,%,$(dir $(abspath $(source)))));)

ifneq ($(and $(KERNELS),$(if $(wildcard $(KERNELS)/*.cu),,none)),)
$(error KERNELS=$(KERNELS): this folder has no .cu file. Name a folder with kernels of lab 3, such as lab/step3_fused)
endif

.PHONY: pytorch-cpu pytorch-cuda pytorch-libraries
pytorch-cpu:  $(PYTORCH_OUT)/libcourse_kernels_cpu.so $(PYTORCH_OUT)/libcourse_trace.so
pytorch-cuda: $(PYTORCH_OUT)/libcourse_kernels_cuda.so
pytorch-libraries: pytorch-cpu $(if $(and $(NVCC),$(wildcard /dev/nvidia[0-9]* /dev/dxg)),pytorch-cuda)

# $(1): cpu or cuda; $(2): a source. What was built from another folder is built again.
define pytorch_object
$(PYTORCH_OUT)/$(1)/$(notdir $(basename $(2))).o: $(2) $(PYTORCH_OUT)/$(1)/sources \
    $(if $(filter cpu,$(1)),$(SIMT_CC_NEEDS) $(SIMT_HEADERS)) | $(OPS_INDEX)
	$$(PYTORCH_COMPILE_$(1))
endef
$(foreach backend,cpu cuda,$(foreach source,$(PYTORCH_SOURCES) $(PYTORCH_SHIMS),\
    $(eval $(call pytorch_object,$(backend),$(source)))))

.PHONY: pytorch-sources
$(PYTORCH_OUT)/cpu/sources $(PYTORCH_OUT)/cuda/sources: pytorch-sources
	@mkdir -p $(@D)
	@printf '%s %s\n' '$(CUDA_ARCH)' '$(PYTORCH_LISTED)' | cmp -s - $@ || printf '%s %s\n' '$(CUDA_ARCH)' '$(PYTORCH_LISTED)' >$@

# ---- the CPU backend: kernels, runtime and table in one library. The runtime is compiled again, because that of programs is not
# position-independent. Its code has no section of its own, and its program no _start, so that no timer interrupts the process
# that loads it (engine/preempt.c). ----
PYTORCH_SIMT := $(addprefix $(BUILD)/pytorch/cpu/simt/,$(SIMT_OBJECTS))
$(PYTORCH_SIMT): $(BUILD)/pytorch/cpu/simt/%.o: $(SIMT)/%
	@mkdir -p $(@D)
	$(HOST_C) $(SIMT_CFLAGS) -DSIMT_CHECKED=0 -fPIC -ftls-model=global-dynamic -c $< -o $@

$(BUILD)/pytorch/cpu/libsimt.a: $(PYTORCH_SIMT)
	@rm -f $@
	$(AR) rcs $@ $^

PYTORCH_COMPILE_cpu = BUILD=$(BUILD) CXX=$(CXX) $(SIMT_CC) --fast -fPIC -O2 -Wall -Wno-sign-compare -Wno-maybe-uninitialized \
    $(PYTORCH_FLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@ -o $@ $<

$(PYTORCH_OUT)/cpu/library.o: $(COURSE)/$(PYTORCH_DIR)/library/library.cpp $(PYTORCH_OUT)/cpu/sources
	$(CXX) -std=c++17 $(WARNINGS) -O2 -fPIC -isystem $(SIMT)/include -DCOURSE_SOURCES='"$(PYTORCH_LISTED)"' -MMD -MP -c -o $@ $<

$(PYTORCH_OUT)/libcourse_kernels_cpu.so: $(PYTORCH_NAMES:%=$(PYTORCH_OUT)/cpu/%.o) $(PYTORCH_OUT)/cpu/library.o \
    $(BUILD)/pytorch/cpu/libsimt.a $(PYTORCH_EXPORTS)
	$(CXX) -shared -nodefaultlibs -o $@ $(filter %.o,$^) $(filter %.a,$^) -Wl,--version-script=$(PYTORCH_EXPORTS) \
	    -Wl,-Bsymbolic -Wl,-z,defs -Wl,--defsym=_start=0,--defsym=__executable_start=0,--defsym=data_start=0 \
	    -lbacktrace -lstdc++ -lm -lpthread -lc -l:libgcc_s.so.1

# Of the exercise debug-integration: it loads the library beside it.
$(PYTORCH_OUT)/libcourse_trace.so: $(COURSE)/$(PYTORCH_DIR)/debugging/trace.c
	@mkdir -p $(@D)
	$(HOST_C) -D_GNU_SOURCE -fPIC -shared -o $@ $< -ldl

# ---- CUDA. The runtime is linked statically: it need not be the one that PyTorch brings. ----
PYTORCH_ARCH = $(or $(CUDA_ARCH),$(if $(wildcard /dev/nvidia[0-9]* /dev/dxg),native,all-major))
PYTORCH_NVCC = $(NVCC) -std=c++17 -O3 -arch=$(PYTORCH_ARCH) $(PYTORCH_FLAGS) -Xcompiler -fPIC,-Wall -MMD -MP -MF $(@:.o=.d) -MT $@
PYTORCH_COMPILE_cuda = $(PYTORCH_NVCC) -lineinfo -c -o $@ $<
$(addprefix $(PYTORCH_OUT)/cuda/,attention_warpgroup.o attention_warpgroup_backward.o): override PYTORCH_ARCH := sm_90a

$(PYTORCH_OUT)/cuda/library.o: $(COURSE)/$(PYTORCH_DIR)/library/library.cpp $(PYTORCH_OUT)/cuda/sources
	$(PYTORCH_NVCC) -DCOURSE_SOURCES='"$(PYTORCH_LISTED)"' -c -o $@ $<

$(PYTORCH_OUT)/libcourse_kernels_cuda.so: $(PYTORCH_NAMES:%=$(PYTORCH_OUT)/cuda/%.o) $(PYTORCH_OUT)/cuda/library.o \
    $(PYTORCH_EXPORTS)
	$(NVCC) -shared -cudart static -arch=$(PYTORCH_ARCH) -o $@ $(filter %.o,$^) -Xlinker --version-script=$(PYTORCH_EXPORTS)

-include $(wildcard $(PYTORCH_OUT)/cpu/*.d $(PYTORCH_OUT)/cuda/*.d) $(PYTORCH_SIMT:.o=.d)
