# tests/test_X.c is a Criterion program. Its kernels, exported as extern "C", stand in tests/test_X.cu; it is
# linked with the checked library. For the names X in SIMT_FAST_TESTS, test_X_fast is the same source, compiled with
# SIMT_FAST_TEST, with the kernels built --fast and the fast library. A test that needs more objects adds them to
# SIMT_TEST_NEEDS_X before this rule runs.
SIMT_FAST_TESTS := collective cuda_std faults graph_memory matrix ptx scheduler shared wmma
SIMT_TEST_NAMES := $(basename $(notdir $(wildcard $(SIMT)/tests/test_*.c))) $(SIMT_FAST_TESTS:%=test_%_fast)
SIMT_TEST_OUT := $(BUILD)/simt/tests
TESTS += $(addprefix $(BUILD)/tests/,$(SIMT_TEST_NAMES))

include $(wildcard $(SIMT)/tests/random/module.mk)

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
