# step.mk — build one runner program for each .cu file of a step: OUT/NAME from SRC/NAME.cu.
#
#   make -f $(COURSE)/common/step.mk COURSE=.. SRC=step1_naive OUT=build/cpu/step1_naive [BACKEND=auto|cpu|cuda]
#
#   runners (default)  OUT/NAME: the grader's runner, with the file's kernels; on the CPU backend the checked build
#   bench              OUT/NAME.bench: times the file's ladders (GPU only; common/runner/bench.cu)
#   exercise           OUT/NAME.exercise: calls every launcher and rung without a grader, for compute-sanitizer and debuggers
#   probes             OUT/NAME.probe: the file's launchers linked with the objects in PROBE, a step's own tests
#   objects            OUT/obj/NAME.o only
#
# A file that does not compile fails alone (use make -k); what the compiler said is also kept in OUT/obj/NAME.log, and the
# outdated program is removed, so a program that exists is current. CUDA_ARCH (default: the GPU that is there, else
# all-major) goes to nvcc as -arch; CPUFLAGS and CUDAFLAGS add flags for the lab's files.

COURSE ?= .
.DEFAULT_GOAL := runners
include $(COURSE)/common/config.mk

ifeq ($(SRC),)
$(error step.mk: say which folder holds the .cu files: SRC=step1_naive)
endif
ifeq ($(OUT),)
$(error step.mk: say where the programs go: OUT=build/cpu/step1_naive)
endif
ifneq ($(filter-out cpu cuda,$(BACKEND)),)
$(error step.mk: BACKEND is auto, cpu or cuda, not $(BACKEND))
endif

comma  := ,
NAMES  := $(patsubst $(SRC)/%.cu,%,$(wildcard $(SRC)/*.cu))
SHARED := $(BUILD)/runner/$(BACKEND)

.PHONY: runners bench exercise probes objects
runners: $(NAMES:%=$(OUT)/%)
bench:   $(NAMES:%=$(OUT)/%.bench)
exercise: $(NAMES:%=$(OUT)/%.exercise)
probes: $(NAMES:%=$(OUT)/%.probe)
objects: $(NAMES:%=$(OUT)/obj/%.o)

# $(call logged,COMMAND,LOG): runs it, keeps what it says in LOG, and on failure removes the target and the programs made of it.
define logged
$(1) >$(2) 2>&1; status=$$?; cat $(2) >&2; if [ $$status -ne 0 ]; then rm -f $@ $(OUT)/$* $(call wired_with,$*); exit 1; fi
endef

ifeq ($(BACKEND),cpu)
# ---- CPU backend: translated, compiled by g++ with checks and counters, linked with the backend ----
# SIMT's rules build the translator and the library when they are out of date.
TESTS ?=
include $(COURSE)/common/simt/module.mk
ifndef TRANSLATE
include $(COURSE)/common/simt/translate/module.mk
endif

SIMT_LIBRARY := $(BUILD)/simt/libsimt_checked.a
SHARED_NAMES := main call launchers wire time_none
SHARED_FLAGS := -std=c++17 $(WARNINGS) -O2 -g -DRUNNER_CPU -I$(COURSE) -I$(COURSE)/common/simt/include -MMD -MP

CU_NEEDS     := $(COURSE)/common/simt/simt-cc $(BUILD)/simt/translate
COMPILE_CU    = BUILD=$(BUILD) COURSE=$(COURSE) CXX=$(CXX) $(COURSE)/common/simt/simt-cc -o $@ $< -Wall -Wno-sign-compare -Werror=return-type -I$(COURSE) \
    -I$(COURSE)/common -MMD -MP -MF $(@:.o=.d) -MT $@
CUDA_INCLUDE := -isystem $(COURSE)/common/simt/include
MODEL_LIBS   := -lopenblas
MODEL_ARCHIVES := $(SIMT_CUBLAS_CHECKED)

$(SHARED)/%.o: $(COURSE)/common/runner/%.cpp
	@mkdir -p $(@D)
	$(CXX) $(SHARED_FLAGS) -c -o $@ $<

LINK      = $(CXX) -no-pie -o $@ $(filter %.o,$^) -Wl$(comma)--start-group $(filter %.a,$^) -Wl$(comma)--end-group $(LINK_LIBS) -lbacktrace -lpthread -lm
BENCH_ONLY_GPU = bench times a GPU: use BACKEND=cuda on a machine that has one (the CPU backend's seconds mean nothing)

$(NAMES:%=$(OUT)/%.bench):
	@echo '$(BENCH_ONLY_GPU)' >&2; exit 2
else
# ---- CUDA: compiled by nvcc for the GPU that is there ----
ifeq ($(NVCC),)
$(error BACKEND=cuda needs nvcc, which is neither on the PATH nor in /usr/local/cuda/bin: install the CUDA toolkit, or use BACKEND=cpu)
endif
CUDA_ARCH    ?= $(if $(wildcard /dev/nvidia[0-9]* /dev/dxg),native,all-major)
SIMT_LIBRARY :=
SHARED_NAMES := main call launchers wire time_job timing fill copy
BENCH_NAMES  := bench bench_options launchers timing fill copy ops ops_table
SHARED_FLAGS := -std=c++17 -O3 -arch=$(CUDA_ARCH) -I$(COURSE) -MMD -MP

CU_NEEDS     :=
COMPILE_CU    = $(NVCC) $(SHARED_FLAGS) -I$(COURSE)/common -lineinfo -Xcompiler -Wall$(comma)-Werror=return-type -MF $(@:.o=.d) -MT $@ -c -o $@ $<
CUDA_INCLUDE := -isystem $(dir $(NVCC))../include
MODEL_LIBS   := -lcublasLt -lcublas
MODEL_ARCHIVES :=

$(SHARED)/%.o: $(COURSE)/common/runner/%.cpp
	@mkdir -p $(@D)
	$(NVCC) $(SHARED_FLAGS) -Xcompiler -Wall$(comma)-Wextra -MF $(@:.o=.d) -MT $@ -c -o $@ $<

$(SHARED)/%.o: $(COURSE)/common/runner/%.cu
	@mkdir -p $(@D)
	$(NVCC) $(SHARED_FLAGS) -Xcompiler -Wall$(comma)-Wextra -MF $(@:.o=.d) -MT $@ -c -o $@ $<

LINK = $(NVCC) -arch=$(CUDA_ARCH) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK_LIBS)

$(NAMES:%=$(OUT)/%.bench): $(OUT)/%.bench: $(OUT)/obj/%.o $(BENCH_NAMES:%=$(SHARED)/%.o)
	@$(call logged,$(LINK),$(OUT)/obj/$*.link.log)
endif

# ---- files that wire a model are linked with the rest of it, and with what they call of each other ----
NAMED_PARTS :=
ifneq ($(shell grep -l '^\#include "gpt2/' $(SRC)/*.cu 2>/dev/null),)
include $(COURSE)/step4_gpt2_integration/gpt2/lab/lab.mk
endif

OBJECTS := $(sort $(NAMES:%=$(OUT)/obj/%.o) $(NAMED_PARTS:%=$(OUT)/obj/%.o))
$(OBJECTS): $(OUT)/obj/%.o: $(SRC)/%.cu $(CU_NEEDS)
	@mkdir -p $(@D)
	@$(call logged,$(COMPILE_CU) $(if $(filter cpu,$(BACKEND)),$(CPUFLAGS),$(CUDAFLAGS)),$(OUT)/obj/$*.log)

JUDGING := ops ops_table elements reference reference_softmax reference_layernorm reference_small wiring wiring_block wiring_ops \
           wiring_backward wiring_block_backward inputs inputs_wiring

OPS := $(SHARED)/ops.o $(SHARED)/ops_table.o

$(JUDGING:%=$(SHARED)/%.o): $(SHARED)/%.o: $(COURSE)/common/%.c
	@mkdir -p $(@D)
	$(HOST_C) -c -o $@ $<

CALLING := launchers reference_call

$(OUT)/%.exercise: $(OUT)/obj/%.o $(SHARED)/exercise.o $(CALLING:%=$(SHARED)/%.o) $(JUDGING:%=$(SHARED)/%.o) $(SIMT_LIBRARY)
	@$(call logged,$(LINK),$(OUT)/obj/$*.link.log)

$(OUT)/%.probe: $(OUT)/obj/%.o $(PROBE) $(CALLING:%=$(SHARED)/%.o) $(JUDGING:%=$(SHARED)/%.o) $(SIMT_LIBRARY)
	@$(call logged,$(LINK),$(OUT)/obj/$*.link.log)

$(NAMES:%=$(OUT)/%): $(OUT)/%: $(OUT)/obj/%.o $(SHARED_NAMES:%=$(SHARED)/%.o) $(OPS) $(SIMT_LIBRARY)
	@$(call logged,$(LINK),$(OUT)/obj/$*.link.log)

.SECONDARY:
-include $(OBJECTS:.o=.d) $(patsubst %,$(SHARED)/%.d,$(SHARED_NAMES) $(BENCH_NAMES) exercise $(CALLING) $(JUDGING))
