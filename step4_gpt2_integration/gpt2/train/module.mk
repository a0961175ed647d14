# Training: objects beside libgpt2.a, for the program and the tests. On the CPU backend the .cu files are built twice, like the model's
# (model/module.mk).

GPT2_TRAIN_NAMES   := $(notdir $(basename $(wildcard $(GPT2_DIR)/train/*.cu)))
GPT2_TRAIN_HOST    := $(patsubst %,$(GPT2_OUT)/host/train_%.o,$(filter-out collective%,$(notdir $(basename $(wildcard $(GPT2_DIR)/train/*.c)))))
GPT2_TRAIN_FAST    := $(GPT2_TRAIN_NAMES:%=$(GPT2_OUT)/fast/train_%.o)
GPT2_TRAIN_CHECKED := $(GPT2_TRAIN_NAMES:%=$(GPT2_OUT)/checked/train_%.o)
GPT2_TRAIN_OBJECTS := $(GPT2_TRAIN_FAST) $(GPT2_TRAIN_HOST)

$(GPT2_TRAIN_HOST): $(GPT2_OUT)/host/train_%.o: $(GPT2_DIR)/train/%.c
	@mkdir -p $(@D)
	$(GPT2_HOST_C) $(GPT2_CUDA_INCLUDE) -c -o $@ $<

# Ranks (collective.h), for the program alone. MPI is optional: without it the program trains on one rank and refuses several. A
# cross-compiler and the sanitizers build without it. NCCL is looked for beside CUDA's headers and in /usr/include. The choice is in
# the path of the objects, so that another one builds them again.
ifneq ($(wildcard $(GPT2_DIR)/train/collective.c),)
GPT2_MPI_FLAGS := $(if $(CROSS)$(SANITIZE),,$(shell pkg-config --cflags --libs ompi-c 2>/dev/null))
GPT2_MPI       := $(if $(filter -lmpi,$(GPT2_MPI_FLAGS)),mpi,alone)
ifeq ($(BACKEND),cuda)
GPT2_NCCL      := $(if $(wildcard $(dir $(NVCC))../include/nccl.h /usr/include/nccl.h),nccl)
endif
GPT2_COLLECTIVE         := $(GPT2_OUT)/collective-$(GPT2_MPI)$(GPT2_NCCL:%=-%)
GPT2_COLLECTIVE_DEFINES := $(if $(filter cpu,$(BACKEND)),-DSIMT_CPU_BACKEND=1) $(if $(GPT2_NCCL),-DGPT2_WITH_NCCL)
GPT2_COLLECTIVE_OBJECTS := $(patsubst %,$(GPT2_COLLECTIVE)/%.o,collective collective_$(GPT2_MPI) $(GPT2_NCCL:%=collective_%))
GPT2_COLLECTIVE_LIBS    := $(filter -L% -l%,$(GPT2_MPI_FLAGS)) $(GPT2_NCCL:%=-lnccl)

$(GPT2_COLLECTIVE_OBJECTS): $(GPT2_COLLECTIVE)/%.o: $(GPT2_DIR)/train/%.c
	@mkdir -p $(@D)
	$(GPT2_HOST_C) $(GPT2_CUDA_INCLUDE) $(GPT2_COLLECTIVE_DEFINES) $(patsubst -I%,-isystem %,$(filter -I%,$(GPT2_MPI_FLAGS))) -c -o $@ $<

-include $(wildcard $(GPT2_COLLECTIVE)/*.d)

# For test_ranks.sh: the program as it is built without MPI.
GPT2_ALONE_OBJECTS := $(patsubst %,$(GPT2_OUT)/collective-alone/test_%.o,collective collective_alone)
$(GPT2_ALONE_OBJECTS): $(GPT2_OUT)/collective-alone/test_%.o: $(GPT2_DIR)/train/%.c
	@mkdir -p $(@D)
	$(GPT2_HOST_C) $(GPT2_CUDA_INCLUDE) $(GPT2_COLLECTIVE_DEFINES) -c -o $@ $<
endif

ifeq ($(BACKEND),cpu)
$(GPT2_TRAIN_FAST): $(GPT2_OUT)/fast/train_%.o: $(GPT2_DIR)/train/%.cu $(GPT2_CU_NEEDS)
	@mkdir -p $(@D)
	$(call GPT2_SIMT_COMPILE,--fast)

$(GPT2_TRAIN_CHECKED): $(GPT2_OUT)/checked/train_%.o: $(GPT2_DIR)/train/%.cu $(GPT2_CU_NEEDS)
	@mkdir -p $(@D)
	$(call GPT2_SIMT_COMPILE,)
else
$(GPT2_TRAIN_FAST): $(GPT2_OUT)/fast/train_%.o: $(GPT2_DIR)/train/%.cu
	@mkdir -p $(@D)
	$(NVCC) -std=c++17 -O3 -arch=$(CUDA_ARCH) -lineinfo -I$(COURSE) $(GPT2_INCLUDE) -Xcompiler -Wall,-Wextra -MMD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $<
endif

# ---- tests: as the model's, with every kernel set; and four of them on the checked CPU backend ----
GPT2_TRAIN_TESTS := $(notdir $(basename $(wildcard $(GPT2_DIR)/train/tests/test_*.c)))

$(GPT2_TRAIN_TESTS:%=$(GPT2_OUT)/train/%.o): $(GPT2_OUT)/train/%.o: $(GPT2_DIR)/train/tests/%.c
	@mkdir -p $(@D)
	$(GPT2_HOST_C) $(GPT2_CUDA_INCLUDE) -DKERNELS='"$(GPT2_OUT)/kernels"' -DGPT2='"$(GPT2_OUT)/gpt2"' -c -o $@ $<

$(GPT2_TRAIN_TESTS:%=$(GPT2_TESTS_OUT)/%): $(GPT2_TESTS_OUT)/%: $(GPT2_OUT)/train/%.o $(GPT2_TRAIN_OBJECTS) \
    $(GPT2_OUT)/libgpt2.a $(GPT2_HOST_LIBRARY) $(GPT2_RUNTIME) | $(GPT2_KERNELS) $(GPT2_OUT)/gpt2
	@mkdir -p $(@D)
	$(GPT2_LINK) -lcriterion

$(GPT2_TESTS_OUT)/test_train_report: $(GPT2_OUT)/program/train_report.o $(GPT2_OUT)/program/progress.o

TESTS += $(GPT2_TRAIN_TESTS:%=$(GPT2_TESTS_OUT)/%)
SIMT_TEST_NAMES += $(GPT2_TRAIN_TESTS)

ifeq ($(BACKEND),cpu)
GPT2_TRAIN_CHECKED_TESTS := test_training_checked test_training_fused_checked test_training_dropout_checked \
    test_optimizer_checked

$(GPT2_TRAIN_CHECKED_TESTS:%=$(GPT2_OUT)/train/%.o): $(GPT2_OUT)/train/%_checked.o: $(GPT2_DIR)/train/tests/%.c
	@mkdir -p $(@D)
	$(GPT2_HOST_C) $(GPT2_CUDA_INCLUDE) -DCHECKED -I$(SIMT) -c -o $@ $<

$(GPT2_TRAIN_CHECKED_TESTS:%=$(GPT2_TESTS_OUT)/%): $(GPT2_TESTS_OUT)/%: $(GPT2_OUT)/train/%.o $(GPT2_TRAIN_CHECKED) \
    $(GPT2_TRAIN_HOST) $(GPT2_CHECKED_OBJECTS) $(GPT2_CHECKED_PARTS) $(GPT2_NAIVE_CHECKED) $(GPT2_OUT)/naive/table.o $(GPT2_MODEL_HOST_OBJECTS) \
    $(GPT2_HOST_LIBRARY) $(SIMT_CUBLAS_CHECKED) $(BUILD)/simt/libsimt_checked.a
	@mkdir -p $(@D)
	$(CXX) -no-pie -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcriterion $(GPT2_HOST_LIBS) $(GPT2_DEVICE_LIBS)

TESTS += $(GPT2_TRAIN_CHECKED_TESTS:%=$(GPT2_TESTS_OUT)/%)
SHELL_TESTS += $(addprefix step4_gpt2_integration/gpt2/train/tests/,test_train_compare.sh test_ranks.sh)

$(GPT2_OUT)/gpt2-alone: $(GPT2_ALONE_OBJECTS) $(GPT2_TRAIN_OBJECTS) $(GPT2_OUT)/libgpt2.a $(GPT2_HOST_LIBRARY) $(GPT2_RUNTIME) | $(GPT2_KERNELS)
	$(GPT2_LINK)
$(GPT2_TESTS_OUT)/test_train_run: | $(GPT2_OUT)/gpt2-alone
SIMT_TEST_NAMES += $(GPT2_TRAIN_CHECKED_TESTS)
endif

-include $(wildcard $(GPT2_OUT)/train/*.d)
