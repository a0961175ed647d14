# The random kernels of tests/random/: made, compiled a few dozen at a time, and linked with their interpreter.
RANDOM_DIR     := $(SIMT)/tests/random
RANDOM_OUT     := $(BUILD)/simt/random
RANDOM_PER_FILE := 50
RANDOM_SEEDS   := 1 51 101 151 201 251

RANDOM_OBJECTS := $(addprefix $(RANDOM_OUT)/,make.o interpret.o compare.o)
SIMT_TEST_NEEDS_random_kernels := $(RANDOM_OBJECTS) $(RANDOM_SEEDS:%=$(RANDOM_OUT)/kernels_%.o)

$(RANDOM_OUT)/%.o: $(RANDOM_DIR)/%.c
	@mkdir -p $(@D)
	$(HOST_C) $(SIMT_CFLAGS) -fno-pie -c $< -o $@

GENERATE_SOURCES := $(addprefix $(RANDOM_DIR)/,make.c print.c generate.c)
$(RANDOM_OUT)/generate: $(GENERATE_SOURCES) $(RANDOM_DIR)/program.h
	@mkdir -p $(@D)
	$(BUILD_C) -MF $@.d -D_DEFAULT_SOURCE -o $@ $(GENERATE_SOURCES)

$(RANDOM_OUT)/kernels_%.cu: $(RANDOM_OUT)/generate
	$< $* $(RANDOM_PER_FILE) > $@.new && mv $@.new $@

$(RANDOM_OUT)/kernels_%.o: $(RANDOM_OUT)/kernels_%.cu $(SIMT_CC_NEEDS) $(SIMT_HEADERS)
	BUILD=$(BUILD) CXX=$(CXX) $(SIMT_CC) -w -o $@ $<

.PRECIOUS: $(RANDOM_OUT)/kernels_%.cu

# Many kernels at once: about 0.15 s of compilation each.
COUNT ?= 10000
RANDOM_MANY = $(shell seq 1 $(RANDOM_PER_FILE) $(COUNT))
.PHONY: random-kernels
random-kernels: ## compare COUNT random kernels with the mask interpreter
	@$(MAKE) --no-print-directory -s $(BUILD)/simt/random/many COUNT=$(COUNT)
	@$(BUILD)/simt/random/many

ifneq ($(filter $(RANDOM_OUT)/many random-kernels,$(MAKECMDGOALS)),)
$(RANDOM_OUT)/many: $(RANDOM_OBJECTS) $(RANDOM_OUT)/main.o $(RANDOM_MANY:%=$(RANDOM_OUT)/kernels_%.o) \
    $(BUILD)/simt/libsimt_checked.a
	$(CXX) -no-pie -o $@ $^ -lbacktrace -lpthread -lm
endif

-include $(wildcard $(RANDOM_OUT)/*.d)
