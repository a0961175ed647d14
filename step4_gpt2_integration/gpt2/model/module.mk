# The model on the device: $(GPT2_OUT)/libgpt2.a from model/*.cu, with the backend's own flags. On the CPU backend there are two builds:
# fast (fast/) for programs, and checked (checked/) for tests. $(GPT2_LINK) links a program that loads kernel sets: it keeps and exports
# the whole backend, because the sets use its runtime. The files of lab 4 (attention, block, decode) come from GPT2_PARTS and are
# linked as objects, because a learner's program has its own. Programs do not need lab 4's optional block_backward: training has its
# own.

GPT2_PARTS          := step4_gpt2_integration/solution
GPT2_PARTS_NAMES    := $(filter-out block_backward,$(notdir $(basename $(wildcard $(COURSE)/$(GPT2_PARTS)/*.cu))))
GPT2_PARTS_OBJECTS  := $(GPT2_PARTS_NAMES:%=$(GPT2_OUT)/fast/parts/%.o)
GPT2_MODEL_NAMES    := $(notdir $(basename $(wildcard $(GPT2_DIR)/model/*.cu)))
GPT2_MODEL_HOST     := $(notdir $(basename $(wildcard $(GPT2_DIR)/model/*.c $(GPT2_DIR)/kernels/load.c)))

ifeq ($(BACKEND),cpu)
GPT2_FAST_OBJECTS    := $(GPT2_MODEL_NAMES:%=$(GPT2_OUT)/fast/%.o)
GPT2_CHECKED_OBJECTS := $(GPT2_MODEL_NAMES:%=$(GPT2_OUT)/checked/%.o)
GPT2_CHECKED_PARTS  := $(GPT2_PARTS_NAMES:%=$(GPT2_OUT)/checked/parts/%.o)
GPT2_SIMT_COMPILE     = BUILD=$(BUILD) CXX=$(CXX) $(SIMT_CC) $(1) -Wall -Wextra -Wno-sign-compare -I$(COURSE) $(GPT2_INCLUDE) -MMD -MP -MF $(@:.o=.d) -MT $@ -o $@ $<
GPT2_COMPILE_FAST     = $(call GPT2_SIMT_COMPILE,--fast)

$(GPT2_FAST_OBJECTS): $(GPT2_OUT)/fast/%.o: $(GPT2_DIR)/model/%.cu $(GPT2_CU_NEEDS)
	@mkdir -p $(@D)
	$(GPT2_COMPILE_FAST)

$(GPT2_CHECKED_OBJECTS): $(GPT2_OUT)/checked/%.o: $(GPT2_DIR)/model/%.cu $(GPT2_CU_NEEDS)
	@mkdir -p $(@D)
	$(call GPT2_SIMT_COMPILE,-DCHECKED)

$(GPT2_PARTS_OBJECTS): $(GPT2_OUT)/fast/parts/%.o: $(COURSE)/$(GPT2_PARTS)/%.cu $(GPT2_CU_NEEDS)
	@mkdir -p $(@D)
	$(GPT2_COMPILE_FAST)

$(GPT2_CHECKED_PARTS): $(GPT2_OUT)/checked/parts/%.o: $(COURSE)/$(GPT2_PARTS)/%.cu $(GPT2_CU_NEEDS)
	@mkdir -p $(@D)
	$(call GPT2_SIMT_COMPILE,)

GPT2_DEVICE_LIBS := -lbacktrace -lopenblas -lpthread -ldl
GPT2_RUNTIME     := $(SIMT_CUBLAS_FAST) $(BUILD)/simt/libsimt_fast.a
GPT2_LINK         = $(CXX) -no-pie -rdynamic -o $@ $(filter %.o,$^) $(GPT2_PARTS_OBJECTS) $(GPT2_OUT)/libgpt2.a $(GPT2_HOST_LIBRARY) \
    $(SIMT_CUBLAS_FAST) -Wl,--whole-archive $(BUILD)/simt/libsimt_fast.a -Wl,--no-whole-archive $(GPT2_HOST_LIBS) $(GPT2_DEVICE_LIBS)
else
GPT2_FAST_OBJECTS := $(GPT2_MODEL_NAMES:%=$(GPT2_OUT)/fast/%.o)
GPT2_COMPILE_FAST  = $(NVCC) -std=c++17 -O3 -arch=$(CUDA_ARCH) -lineinfo -I$(COURSE) $(GPT2_INCLUDE) -Xcompiler -Wall,-Wextra -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $<
$(GPT2_FAST_OBJECTS): $(GPT2_OUT)/fast/%.o: $(GPT2_DIR)/model/%.cu
	@mkdir -p $(@D)
	$(GPT2_COMPILE_FAST)

# wgmma exists for sm_90a alone, and the files' kernels run on compute capability 9.0 alone.
$(addprefix $(GPT2_OUT)/fast/,attention_warpgroup.o attention_warpgroup_backward.o): override CUDA_ARCH := sm_90a

$(GPT2_PARTS_OBJECTS): $(GPT2_OUT)/fast/parts/%.o: $(COURSE)/$(GPT2_PARTS)/%.cu
	@mkdir -p $(@D)
	$(GPT2_COMPILE_FAST)

GPT2_RUNTIME :=
GPT2_LINK     = $(NVCC) -cudart shared -arch=$(CUDA_ARCH) -o $@ $(filter %.o,$^) $(GPT2_PARTS_OBJECTS) $(GPT2_OUT)/libgpt2.a $(GPT2_HOST_LIBRARY) \
    -lcublasLt -lcublas $(GPT2_HOST_LIBS) -ldl
endif

GPT2_MODEL_HOST_OBJECTS := $(GPT2_MODEL_HOST:%=$(GPT2_OUT)/host/%.o)
$(GPT2_OUT)/host/%.o: $(GPT2_DIR)/model/%.c
	@mkdir -p $(@D)
	$(GPT2_HOST_C) $(GPT2_CUDA_INCLUDE) -c -o $@ $<
$(GPT2_OUT)/host/load.o: $(GPT2_DIR)/kernels/load.c
	@mkdir -p $(@D)
	$(GPT2_HOST_C) $(GPT2_CUDA_INCLUDE) -c -o $@ $<

# The library does not contain lab 4's parts, but depends on them, so that programs are linked again when a part changes.
$(GPT2_OUT)/libgpt2.a: $(GPT2_FAST_OBJECTS) $(GPT2_MODEL_HOST_OBJECTS) $(GPT2_PARTS_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $(filter-out $(GPT2_PARTS_OBJECTS),$^)

# ---- tests: tests/test_X.c, with every kernel set, on a GPU or on the fast CPU backend ----
GPT2_MODEL_TESTS := $(filter-out test_step_launches,$(notdir $(basename $(wildcard $(GPT2_DIR)/model/tests/test_*.c))))

$(GPT2_OUT)/tests/%.o: $(GPT2_DIR)/model/tests/%.c
	@mkdir -p $(@D)
	$(GPT2_HOST_C) $(GPT2_CUDA_INCLUDE) -DKERNELS='"$(GPT2_OUT)/kernels"' -c -o $@ $<

$(GPT2_MODEL_TESTS:%=$(GPT2_TESTS_OUT)/%): $(GPT2_TESTS_OUT)/%: $(GPT2_OUT)/tests/%.o $(GPT2_OUT)/libgpt2.a \
    $(GPT2_HOST_LIBRARY) $(GPT2_RUNTIME) | $(GPT2_KERNELS)
	@mkdir -p $(@D)
	$(GPT2_LINK) -lcriterion

TESTS += $(GPT2_MODEL_TESTS:%=$(GPT2_TESTS_OUT)/%)
SIMT_TEST_NAMES += $(GPT2_MODEL_TESTS)

ifeq ($(BACKEND),cpu)
# The same tests on the checked CPU backend, with the naive set linked in, because it reports source lines of the program alone, not of
# loaded sets.
GPT2_NAIVE_CHECKED := $(patsubst %,$(GPT2_OUT)/checked/naive_%.o,$(call gpt2_set_names,$(GPT2_SET_naive)))
$(GPT2_NAIVE_CHECKED): $(GPT2_OUT)/checked/naive_%.o: $(GPT2_DIR)/kernels/naive/%.cu $(GPT2_CU_NEEDS)
	@mkdir -p $(@D)
	$(call GPT2_SIMT_COMPILE,)

GPT2_CHECKED_TESTS := test_model_checked test_forms_checked test_sampling_checked test_eight_bits_checked test_step_launches_checked
$(GPT2_CHECKED_TESTS:%=$(GPT2_OUT)/tests/%.o): $(GPT2_OUT)/tests/%_checked.o: $(GPT2_DIR)/model/tests/%.c
	@mkdir -p $(@D)
	$(GPT2_HOST_C) $(GPT2_CUDA_INCLUDE) -DCHECKED -I$(SIMT) -c -o $@ $<

$(GPT2_CHECKED_TESTS:%=$(GPT2_TESTS_OUT)/%): $(GPT2_TESTS_OUT)/%: $(GPT2_OUT)/tests/%.o $(GPT2_CHECKED_OBJECTS) \
    $(GPT2_CHECKED_PARTS) $(GPT2_NAIVE_CHECKED) $(GPT2_OUT)/naive/table.o $(GPT2_MODEL_HOST_OBJECTS) $(GPT2_HOST_LIBRARY) \
    $(SIMT_CUBLAS_CHECKED) $(BUILD)/simt/libsimt_checked.a
	@mkdir -p $(@D)
	$(CXX) -no-pie -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcriterion $(GPT2_HOST_LIBS) $(GPT2_DEVICE_LIBS)

TESTS += $(GPT2_CHECKED_TESTS:%=$(GPT2_TESTS_OUT)/%)
SIMT_TEST_NAMES += $(GPT2_CHECKED_TESTS)
endif

-include $(wildcard $(GPT2_OUT)/*/*.d $(GPT2_OUT)/*/parts/*.d)
