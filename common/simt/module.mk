# The CPU backend: two libraries from the same sources, and the translator.
#   $(BUILD)/simt/libsimt_checked.a   checks and counters; for objects from simt-cc
#   $(BUILD)/simt/libsimt_fast.a      neither; for objects from simt-cc --fast

SIMT := $(COURSE)/common/simt
SIMT_ARCH := $(or $(CROSS),$(shell uname -m 2>/dev/null))
-include $(SIMT)/engine/arch/$(SIMT_ARCH)/flags.mk
SIMT_ROOMS := engine engine/arch/$(SIMT_ARCH) checks api
SIMT_SOURCES := $(wildcard $(foreach room,$(SIMT_ROOMS),$(SIMT)/$(room)/*.c $(SIMT)/$(room)/*.S))
SIMT_OBJECTS := $(patsubst $(SIMT)/%,%.o,$(SIMT_SOURCES))
SIMT_CHECKED_OBJECTS := $(addprefix $(BUILD)/simt/checked/,$(SIMT_OBJECTS))
SIMT_FAST_OBJECTS := $(addprefix $(BUILD)/simt/fast/,$(SIMT_OBJECTS))
SIMT_LIBRARIES := $(BUILD)/simt/libsimt_checked.a $(BUILD)/simt/libsimt_fast.a
SIMT_HEADERS := $(wildcard $(SIMT)/include/*.h $(SIMT)/include/*/*.h $(SIMT)/include/simt/arch/*.h $(SIMT)/include/cuda/*)
# Programs are linked -no-pie, so the library need not be position-independent, and the linker knows the addresses of its
# thread-local variables: one instruction less at each access of a kernel. With aligned functions the speed of a hook does
# not vary from build to build.
SIMT_CFLAGS := -I$(SIMT)/include -I$(SIMT) -I$(SIMT)/engine/arch/$(SIMT_ARCH) -fno-strict-aliasing -ffp-contract=off \
    $(SIMT_ARCH_LIBRARY) -D_DEFAULT_SOURCE -fno-pie -ftls-model=local-exec -falign-functions=64

$(SIMT_CHECKED_OBJECTS) $(SIMT_FAST_OBJECTS): | $(SIMT)/engine/arch/$(SIMT_ARCH)/arch_context.h
$(SIMT)/engine/arch/%/arch_context.h:
	@echo 'The CPU backend runs on Linux on x86-64 and on 64-bit ARM, not on $*: see docs/getting-started.md' >&2; exit 2

$(BUILD)/simt/checked/%.o: $(SIMT)/%
	@mkdir -p $(@D)
	$(HOST_C) $(SIMT_CFLAGS) -DSIMT_CHECKED=1 -c $< -o $@

$(BUILD)/simt/fast/%.o: $(SIMT)/%
	@mkdir -p $(@D)
	$(HOST_C) $(SIMT_CFLAGS) -DSIMT_CHECKED=0 -c $< -o $@

$(BUILD)/simt/libsimt_checked.a: $(SIMT_CHECKED_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

# The library's code gets a section of its own, so that engine/preempt.c can distinguish it from the learner's.
$(BUILD)/simt/libsimt_fast.a: $(SIMT_FAST_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^
	$(OBJCOPY) --rename-section .text=simt_text $@

-include $(SIMT_CHECKED_OBJECTS:.o=.d) $(SIMT_FAST_OBJECTS:.o=.d)

include $(wildcard $(SIMT)/translate/module.mk $(SIMT)/tests/module.mk $(SIMT)/bench/module.mk)

# Tests: tests/test_X.c is a Criterion program. Its kernels, exported as extern "C", stand in tests/test_X.cu; it is
# linked with the checked library. For the names X in SIMT_FAST_TESTS, test_X_fast is the same source, compiled with
# SIMT_FAST_TEST, with the kernels built --fast and the fast library. A test that needs more objects adds them to
# SIMT_TEST_NEEDS_X before this rule runs.
SIMT_FAST_TESTS := collective cuda_std faults graph_memory matrix ptx scheduler shared wmma
SIMT_TEST_NAMES := $(basename $(notdir $(wildcard $(SIMT)/tests/test_*.c))) $(SIMT_FAST_TESTS:%=test_%_fast)
SIMT_TEST_OUT := $(BUILD)/simt/tests
TESTS += $(addprefix $(BUILD)/tests/,$(SIMT_TEST_NAMES))

# Programs that run under qemu-user have a substitute for Criterion.
CRITERION := -lcriterion
ifdef CROSS
CRITERION := $(SIMT_TEST_OUT)/emulated/main.c.o
SIMT_TEST_FLAGS := -isystem $(SIMT)/tests/emulated
$(SIMT_TEST_NAMES:%=$(BUILD)/tests/%): $(CRITERION)
endif

$(SIMT_TEST_OUT)/%.c.o: $(SIMT)/tests/%.c
	@mkdir -p $(@D)
	$(HOST_C) $(SIMT_CFLAGS) $(SIMT_TEST_FLAGS) -I$(COURSE)/common -DBUILD_FOLDER='"$(BUILD)"' -c $< -o $@

$(SIMT_TEST_OUT)/%_fast.c.o: $(SIMT)/tests/%.c
	@mkdir -p $(@D)
	$(HOST_C) $(SIMT_CFLAGS) $(SIMT_TEST_FLAGS) -DSIMT_FAST_TEST -c $< -o $@

$(SIMT_TEST_OUT)/%.cu.o: $(SIMT)/tests/%.cu $(SIMT_CC_NEEDS) $(SIMT_HEADERS)
	@mkdir -p $(@D)
	BUILD=$(BUILD) CXX=$(CXX) $(SIMT_CC) -o $@ $< -I$(COURSE)

$(SIMT_TEST_OUT)/%_fast.cu.o: $(SIMT)/tests/%.cu $(SIMT_CC_NEEDS) $(SIMT_HEADERS)
	@mkdir -p $(@D)
	BUILD=$(BUILD) CXX=$(CXX) $(SIMT_CC) --fast -o $@ $< -I$(COURSE)

# $(1): test_X or test_X_fast; $(2): the library
define simt_test
$(BUILD)/tests/$(1): $(SIMT_TEST_OUT)/$(1).c.o $(SIMT_TEST_NEEDS_$(1:test_%=%)) \
    $(if $(wildcard $(SIMT)/tests/$(1:%_fast=%).cu),$(SIMT_TEST_OUT)/$(1).cu.o) $(2)
	@mkdir -p $$(@D)
	$(CXX) -no-pie -o $$@ $$(filter-out $(CRITERION),$$^) $(CRITERION) -lbacktrace -lpthread -lm
endef
$(foreach test,$(filter-out %_fast,$(SIMT_TEST_NAMES)),$(eval $(call simt_test,$(test),$(BUILD)/simt/libsimt_checked.a)))
$(foreach test,$(filter %_fast,$(SIMT_TEST_NAMES)),$(eval $(call simt_test,$(test),$(BUILD)/simt/libsimt_fast.a)))

$(BUILD)/tests/test_headers: | $(BUILD)/simt/include/.made

-include $(wildcard $(SIMT_TEST_OUT)/*.d)

include $(wildcard $(SIMT)/cublas/module.mk)
