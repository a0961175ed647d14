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

# Real runners, from lab files made for the tests.
RUNNER_LABS := $(wildcard $(COURSE)/common/runner/tests/labs/*.cu)

$(BUILD)/runner/tests/built: $(RUNNER_LABS) $(wildcard $(COURSE)/common/runner/*.cpp $(COURSE)/common/runner/*.h) \
                             $(COURSE)/common/step.mk $(BUILD)/simt/libsimt_checked.a $(BUILD)/simt/translate
	@mkdir -p $(@D)
	@$(MAKE) -s --no-print-directory -f $(COURSE)/common/step.mk COURSE=$(COURSE) BUILD=$(BUILD) BACKEND=cpu \
	    SRC=$(COURSE)/common/runner/tests/labs OUT=$(@D)
	@touch $@

$(BUILD)/tests/test_runner: $(BUILD)/host/common/runner/tests/test_runner.o $(BUILD)/grader/libgrader.a \
                            $(BUILD)/runner/tests/built
	@mkdir -p $(@D)
	$(CC) -o $@ $(filter %.o %.a,$^) -lcriterion -lm

TESTS += $(BUILD)/tests/test_runner
-include $(BUILD)/host/common/runner/tests/test_runner.d
