# common/runner/module.mk — what the tests of the runner and of the gate to it need: programs that misbehave on purpose.
# The runners themselves are built by common/step.mk, beside the step that they run.

HOSTILE_MODES := $(shell sed -n 's/^ *{"\([a-z0-9_]*\)", mode_.*/&/p' $(COURSE)/grader/tests/hostile/hostile.c | \
                   grep -o '{"[a-z0-9_]*"' | tr -d '{"') constructor
HOSTILE := $(HOSTILE_MODES:%=$(BUILD)/hostile/%)

$(BUILD)/hostile/hostile: $(BUILD)/host/grader/tests/hostile/hostile.o $(BUILD)/host/common/ops.o
	@mkdir -p $(@D)
	$(CC) -o $@ $^

# One program under many names: a runner gets no arguments, so its name says what it does.
$(HOSTILE): $(BUILD)/hostile/%: $(BUILD)/hostile/hostile
	@ln -f $< $@

$(foreach t,spawn sandbox job measure,$(BUILD)/tests/test_$(t)): $(BUILD)/hostile/hostile $(HOSTILE)

-include $(BUILD)/host/grader/tests/hostile/hostile.d

# The build tests run common/step.mk, which would otherwise build the backend while a test waits.
$(BUILD)/tests/test_build: $(BUILD)/simt/libsimt_checked.a $(BUILD)/simt/translate
