# step.mk — build one runner program for each .cu file of a step: OUT/NAME from SRC/NAME.cu.
#
#   make -f $(COURSE)/common/step.mk COURSE=.. SRC=FOLDER OUT=build/cpu/FOLDER [LAB=FOLDER] [BACKEND=auto|cpu|cuda]
#
# LAB names the lab that the files belong to, a folder of the course with a lab.conf; by default, the last one on SRC's path.
# If it has a lab.mk, that file names the further objects that its programs are linked with, the packages that it needs and the
# program that is built around its files (docs/lab-conf.md).
#
#   runners (default)  OUT/NAME: the grader's runner with the file's kernels; on the CPU backend, the checked build
#   bench              OUT/NAME.bench: times the file's ladders (GPU only; common/runner/bench.cu)
#   exercise           OUT/NAME.exercise: calls every launcher and rung without the grader, for compute-sanitizer and debuggers
#   records            OUT/NAME.records: one call of a launcher as launches and bytes (CPU backend only; common/runner/records.cpp)
#   probes             OUT/NAME.probe: the file's launchers linked with the objects in PROBE, a step's own tests
#   objects            OUT/obj/NAME.o only, and OUT/obj/imports: LEARNER_IMPORTS
#   TRACED=1           with runners, on the CPU backend: programs that report the branches of each call (common/runner/trace.cpp)
#                      and check nothing; OUT is a folder of their own
#   LEARNER=FOLDER     the files follow the rules of marked files (common/simt/translate/learner.c), and their headers are in
#                      FOLDER (default: SRC)
#   REFUSED=NAMES      these files are not compiled, and their objects are removed: the grader refuses them
#   CONFINED=PROGRAM   each file is compiled in a sandbox, by that program (grader/compile.c)
#   shared             what the runners share with those of other folders, all in BUILD: the grader makes it under a lock, so
#                      that gradings can run side by side
#   packages           installs what the lab needs
#   program            builds the program around the lab's files, if there is one
#
# A file is compiled again when its text or that of a header is newer than its object, or not what the object was built from
# (common/built-from).
# With make -k, a file that does not compile does not stop the others. Its compiler's output is also in OUT/obj/NAME.log. Its
# outdated program is removed, so a program that exists is current. CUDA_ARCH is nvcc's -arch (default: native where there is a
# GPU, else all-major). CPUFLAGS and CUDAFLAGS add flags for the lab's files.

COURSE ?= .
LEARNER ?= $(SRC)
ifneq ($(origin LAB),command line)
LAB := $(lastword $(foreach part,$(subst /, ,$(abspath $(SRC))),$(if $(wildcard $(COURSE)/$(part)/lab.conf),$(part))))
endif
.DEFAULT_GOAL := runners
include $(COURSE)/common/config.mk

ifndef OPS_INCLUDE
include $(COURSE)/common/ops/module.mk
endif

ifeq ($(SRC),)
$(error step.mk: SRC= must name the folder of the .cu files)
endif
ifeq ($(OUT),)
$(error step.mk: OUT= must name the folder for the programs, such as build/cpu/step1_naive)
endif
ifneq ($(filter-out cpu cuda,$(BACKEND)),)
$(error step.mk: BACKEND is auto, cpu or cuda, not $(BACKEND))
endif

comma  := ,
NAMES  := $(patsubst $(SRC)/%.cu,%,$(wildcard $(SRC)/*.cu))
SHARED := $(BUILD)/runner/$(BACKEND)
TRACING := $(SHARED)/trace.o $(SHARED)/lines.o $(SHARED)/huge.o

# The ops' descriptions are linked with every program, their references with those that run without the grader.
DESCRIBED := $(OPS_DESCRIBED:common/ops/%.c=$(SHARED)/ops/%.o)
JUDGING   := $(OPS_SOURCES:common/ops/%.c=$(SHARED)/ops/%.o)

.PHONY: runners bench exercise records probes objects packages program shared
runners: $(NAMES:%=$(OUT)/%)
bench:   $(NAMES:%=$(OUT)/%.bench)
exercise: $(NAMES:%=$(OUT)/%.exercise)
records: $(NAMES:%=$(OUT)/%.records)
probes: $(NAMES:%=$(OUT)/%.probe)

# $(call logged,COMMAND,LOG): runs the command with its output in LOG. On failure it removes the target and the programs that
# contain it.
define logged
$(1) >$(2) 2>&1; status=$$?; cat $(2) >&2; if [ $$status -ne 0 ]; then rm -f $@ $(OUT)/$* $(call programs_with,$*); exit 1; fi
endef

ifeq ($(BACKEND),cpu)
# ---- CPU backend: files are translated, compiled by g++ with checks and counters, and linked with the backend ----
# The backend's rules build the translator and the library if they are out of date.
WITHOUT_TESTS := 1
include $(COURSE)/common/simt/module.mk
ifndef TRANSLATE
include $(COURSE)/common/simt/translate/module.mk
endif

SIMT_LIBRARY := $(BUILD)/simt/libsimt_checked.a
SHARED_NAMES := main files call launchers wire time_none $(if $(LEARNER),learner_begin learner_end around_end)
SHARED_FLAGS := -std=c++17 $(WARNINGS) -O2 -g -DRUNNER_CPU -I$(COURSE) $(OPS_FLAGS) -I$(COURSE)/common/simt/include -MMD -MP

CU_NEEDS     := $(COURSE)/common/simt/simt-cc $(BUILD)/simt/translate
COMPILE_CU    = BUILD=$(BUILD) COURSE=$(COURSE) CXX=$(CXX) $(COURSE)/common/simt/simt-cc -o $@ $< -Wall -Wno-sign-compare -Werror=return-type -I$(COURSE) \
    $(OPS_FLAGS) -MMD -MP -MF $(@:.o=.d) -MT $@
CUDA_INCLUDE := -isystem $(COURSE)/common/simt/include
MODEL_LIBS   := -lopenblas
MODEL_ARCHIVES := $(SIMT_CUBLAS_CHECKED)

$(SHARED)/%.o: $(COURSE)/common/runner/%.cpp | $(OPS_INDEX)
	@mkdir -p $(@D)
	$(CXX) $(SHARED_FLAGS) -c -o $@ $<

$(SHARED)/%.o: $(COURSE)/common/runner/%.c
	@mkdir -p $(@D)
	$(HOST_C) -c -o $@ $<

# The lab's objects and the code around them lie between marks (common/runner/learner_begin.c).
MARKED    = $(foreach part,learner_begin $(1) around_end,$(filter $(if $(findstring %,$(part)),$(part),%/$(part).o),$^))
INSIDE    = $(call MARKED,$(OUT)/obj/%.o learner_end $(SHARED)/model/%.o $(SHARED)/model/%.a)
LINK      = $(CXX) -no-pie -o $@ $(INSIDE) $(filter-out $(INSIDE),$(filter %.o,$^)) \
    -Wl$(comma)--start-group $(filter-out $(INSIDE),$(filter %.a,$^)) -Wl$(comma)--end-group $(LINK_LIBS) -lbacktrace -lpthread -lm
BENCH_ONLY_GPU = bench times a GPU: use BACKEND=cuda on a machine that has one (times of the CPU backend say nothing about a GPU)

$(NAMES:%=$(OUT)/%.bench):
	@echo '$(BENCH_ONLY_GPU)' >&2; exit 2
else
# ---- CUDA: files are compiled by nvcc for this machine's GPU ----
ifeq ($(NVCC),)
$(error BACKEND=cuda needs nvcc, which is neither on the PATH nor in /usr/local/cuda/bin: install the CUDA toolkit, or use BACKEND=cpu)
endif
CUDA_ARCH    ?= $(if $(wildcard /dev/nvidia[0-9]* /dev/dxg),native,all-major)
SIMT_LIBRARY :=
SHARED_NAMES := main call launchers wire time_job timing fill copy
BENCH_NAMES  := bench bench_options launchers timing fill copy
SHARED_FLAGS := -std=c++17 -O3 -arch=$(CUDA_ARCH) -I$(COURSE) $(OPS_FLAGS) -MMD -MP

CU_NEEDS     :=
COMPILE_CU    = $(NVCC) $(SHARED_FLAGS) -lineinfo -Xcompiler -Wall$(comma)-Werror=return-type -MF $(@:.o=.d) -MT $@ -c -o $@ $<
CUDA_INCLUDE := -isystem $(dir $(NVCC))../include
MODEL_LIBS   := -lcublasLt -lcublas
MODEL_ARCHIVES :=

$(SHARED)/%.o: $(COURSE)/common/runner/%.cpp | $(OPS_INDEX)
	@mkdir -p $(@D)
	$(NVCC) $(SHARED_FLAGS) -Xcompiler -Wall$(comma)-Wextra -MF $(@:.o=.d) -MT $@ -c -o $@ $<

$(SHARED)/%.o: $(COURSE)/common/runner/%.cu | $(OPS_INDEX)
	@mkdir -p $(@D)
	$(NVCC) $(SHARED_FLAGS) -Xcompiler -Wall$(comma)-Wextra -MF $(@:.o=.d) -MT $@ -c -o $@ $<

LINK = $(NVCC) -arch=$(CUDA_ARCH) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(LINK_LIBS)

$(NAMES:%=$(OUT)/%.bench): $(OUT)/%.bench: $(OUT)/obj/%.o $(BENCH_NAMES:%=$(SHARED)/%.o) $(DESCRIBED)
	@$(call logged,$(LINK),$(OUT)/obj/$*.link.log)
endif

# ---- the lab's own lab.mk. It adds prerequisites to $(OUT)/NAME. It sets:
#   NAMED_PARTS    the files of SRC that other files are linked with
#   programs_with  $(call programs_with,PART): the programs that PART belongs to
#   PACKAGES       the part of tools/install.sh that the lab needs
#   LAB_SHARED     the files in BUILD that its programs are linked with
#   LEARNER_READS    folders of the course, besides common/, that the compiler reads
#   LEARNER_IMPORTS  C++ functions of the course that the lab's files may call when they are marked
#   LEARNER_HEADERS   += headers of the course that the lab's files may include when they are marked
# It may give `program` a recipe, which runs in the learner's folder. ----
NAMED_PARTS :=
PACKAGES    := build
LAB_SHARED  :=
LEARNER_IMPORTS :=
LEARNER_READS :=
LEARNER_HEADERS := common/*.h common/*.cuh common/ops/types.h common/ops/*/contract.h common/contracts/*.h ops/types.h ops/*/contract.h
include $(if $(LAB),$(wildcard $(COURSE)/$(LAB)/lab.mk))

packages:
	@$(COURSE)/tools/install.sh $(PACKAGES)

OBJECTS := $(sort $(NAMES:%=$(OUT)/obj/%.o) $(NAMED_PARTS:%=$(OUT)/obj/%.o))
BUILT_FROM := $(COURSE)/common/built-from
OUTDATED := $(shell $(BUILT_FROM) check $(SRC) $(OBJECTS))
objects: $(OBJECTS) $(OUT)/obj/imports
$(OUT)/obj/imports:
	@mkdir -p $(@D)
	@echo '$(LEARNER_IMPORTS)' >$@
$(OBJECTS): $(OUT)/obj/%.o: $(SRC)/%.cu $(CU_NEEDS) | $(OPS_INDEX)
	@mkdir -p $(@D)
	@$(if $(filter $*,$(REFUSED)),rm -f $@ $(OUT)/$* $(call programs_with,$*); exit 1)
	@$(BUILT_FROM) begin $@
	@$(call logged,$(if $(and $(CONFINED),$(filter cpu,$(BACKEND))),$(CONFINED) $*.cu $(OUT)/obj $(COURSE)/common $(BUILD)/simt $(OPS_INCLUDE) $(SRC) $(OUT)/obj $(LEARNER_READS) -- env) $(COMPILE_CU) $(if $(filter cpu,$(BACKEND)),$(CPUFLAGS) $(if $(TRACED),--traced) $(if $(LEARNER),--learner $(LEARNER) --learner-headers '$(LEARNER_HEADERS)'),$(CUDAFLAGS)),$(OUT)/obj/$*.log)
	@$(BUILT_FROM) keep $@
.PHONY: always
$(foreach object,$(OUTDATED) $(REFUSED:%=$(OUT)/obj/%.o),$(eval $(object): always))

$(JUDGING): $(SHARED)/ops/%.o: $(COURSE)/common/ops/%.c | $(OPS_INDEX)
	@mkdir -p $(@D)
	$(HOST_C) $(OPS_FLAGS) -c -o $@ $<

CALLING := launchers reference_call

$(OUT)/%.exercise: $(OUT)/obj/%.o $(SHARED)/exercise.o $(CALLING:%=$(SHARED)/%.o) $(JUDGING) $(SIMT_LIBRARY)
	@$(call logged,$(LINK),$(OUT)/obj/$*.link.log)

$(OUT)/%.records: $(OUT)/obj/%.o $(SHARED)/records.o $(CALLING:%=$(SHARED)/%.o) $(JUDGING) $(SIMT_LIBRARY)
	@$(call logged,$(LINK),$(OUT)/obj/$*.link.log)

$(OUT)/%.probe: $(OUT)/obj/%.o $(PROBE) $(CALLING:%=$(SHARED)/%.o) $(JUDGING) $(SIMT_LIBRARY)
	@$(call logged,$(LINK),$(OUT)/obj/$*.link.log)

$(NAMES:%=$(OUT)/%): $(OUT)/%: $(OUT)/obj/%.o $(SHARED_NAMES:%=$(SHARED)/%.o) $(if $(TRACED),$(TRACING)) $(DESCRIBED) $(SIMT_LIBRARY)
	@$(call logged,$(LINK),$(OUT)/obj/$*.link.log)

shared: $(if $(filter cpu,$(BACKEND)),$(TRACING)) $(CU_NEEDS) $(OPS_INDEX) $(SHARED_NAMES:%=$(SHARED)/%.o) $(DESCRIBED) $(SIMT_LIBRARY) $(LAB_SHARED)

.SECONDARY:
-include $(OBJECTS:.o=.d) $(TRACING:.o=.d) $(patsubst %,$(SHARED)/%.d,$(SHARED_NAMES) $(BENCH_NAMES) exercise records $(CALLING)) $(JUDGING:.o=.d)
