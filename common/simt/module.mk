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

include $(wildcard $(SIMT)/translate/module.mk $(SIMT)/cublas/module.mk)

# common/step.mk sets WITHOUT_TESTS: make takes longer to read the rules of tests than all others.
ifndef WITHOUT_TESTS
include $(wildcard $(SIMT)/tests/module.mk $(SIMT)/translate/tests/module.mk $(SIMT)/cublas/tests/module.mk $(SIMT)/bench/module.mk)
endif
