# The CPU backend: two libraries from the same sources, and the translator.
#   $(BUILD)/simt/libsimt_checked.a   checks and counters; for objects from simt-cc
#   $(BUILD)/simt/libsimt_fast.a      neither; for objects from simt-cc --fast

SIMT := $(COURSE)/common/simt
SIMT_SOURCES := $(wildcard $(SIMT)/core/*.c $(SIMT)/core/*.S $(SIMT)/api/*.c)
SIMT_OBJECTS := $(patsubst $(SIMT)/%,%.o,$(SIMT_SOURCES))
SIMT_CHECKED_OBJECTS := $(addprefix $(BUILD)/simt/checked/,$(SIMT_OBJECTS))
SIMT_FAST_OBJECTS := $(addprefix $(BUILD)/simt/fast/,$(SIMT_OBJECTS))
SIMT_LIBRARIES := $(BUILD)/simt/libsimt_checked.a $(BUILD)/simt/libsimt_fast.a
SIMT_CFLAGS := -I$(SIMT)/include -I$(SIMT)/core -fno-strict-aliasing -ffp-contract=off -D_DEFAULT_SOURCE

$(BUILD)/simt/checked/%.o: $(SIMT)/%
	@mkdir -p $(@D)
	$(HOST_C) $(SIMT_CFLAGS) -DSIMT_CHECKED=1 -c $< -o $@

$(BUILD)/simt/fast/%.o: $(SIMT)/%
	@mkdir -p $(@D)
	$(HOST_C) $(SIMT_CFLAGS) -DSIMT_CHECKED=0 -c $< -o $@

$(BUILD)/simt/libsimt_checked.a: $(SIMT_CHECKED_OBJECTS)
	@rm -f $@
	ar rcs $@ $^

$(BUILD)/simt/libsimt_fast.a: $(SIMT_FAST_OBJECTS)
	@rm -f $@
	ar rcs $@ $^

-include $(SIMT_CHECKED_OBJECTS:.o=.d) $(SIMT_FAST_OBJECTS:.o=.d)

include $(wildcard $(SIMT)/translate/module.mk $(SIMT)/tests/module.mk)
