# common/runner/module.mk — programs for the tests of the runner and the sandbox, some of which misbehave on purpose.
# The runners themselves are built by common/step.mk, beside the step that they run.

HOSTILE_MODES := $(shell sed -n 's/^ *{"\([a-z0-9_]*\)", mode_.*/&/p' $(wildcard $(COURSE)/grader/tests/hostile/hostile.c) /dev/null | \
                   grep -o '{"[a-z0-9_]*"' | tr -d '{"') constructor
# Tests always start programs of the ordinary build, even if the tests are built with sanitizers (make test-asan).
PLAIN_BUILD := $(patsubst %/asan,%,$(BUILD))
HOSTILE := $(HOSTILE_MODES:%=$(PLAIN_BUILD)/hostile/%)
GATE_TESTS := spawn sandbox job measure

HOSTILE_OBJECTS := $(patsubst $(COURSE)/%.c,$(PLAIN_BUILD)/host/%.o,$(wildcard $(COURSE)/grader/tests/hostile/*.c))

$(PLAIN_BUILD)/hostile/hostile: $(HOSTILE_OBJECTS) $(OPS_DESCRIBED:%.c=$(PLAIN_BUILD)/host/%.o)
	@mkdir -p $(@D)
	$(CC) -o $@ $^

# One program under many names: a runner gets no arguments, so its name selects its behaviour.
$(HOSTILE): $(PLAIN_BUILD)/hostile/%: $(PLAIN_BUILD)/hostile/hostile
	@ln -f $< $@

$(GATE_TESTS:%=$(BUILD)/tests/test_%): $(PLAIN_BUILD)/hostile/hostile $(HOSTILE)
$(patsubst %,$(BUILD)/host/grader/tests/test_%.o,$(GATE_TESTS) build): HOST_C += -DTEST_BUILD='"$(PLAIN_BUILD)"'

-include $(HOSTILE_OBJECTS:.o=.d)

# The build tests run common/step.mk, which would otherwise build the backend while a test waits.
$(BUILD)/tests/test_build: $(PLAIN_BUILD)/simt/libsimt_checked.a $(PLAIN_BUILD)/simt/translate

# Real runners, from lab files made for the tests.
RUNNER_LABS := $(wildcard $(COURSE)/common/runner/tests/labs/*.cu)
RUNNER_TEST := $(PLAIN_BUILD)/runner/tests

$(RUNNER_TEST)/built: $(RUNNER_LABS) $(wildcard $(COURSE)/common/runner/*.cpp $(COURSE)/common/runner/*.h) \
                      $(COURSE)/common/step.mk $(PLAIN_BUILD)/simt/libsimt_checked.a $(PLAIN_BUILD)/simt/translate
	@mkdir -p $(@D)
	@$(MAKE) -s --no-print-directory -f $(COURSE)/common/step.mk COURSE=$(COURSE) BUILD=$(PLAIN_BUILD) SANITIZE= \
	    BACKEND=cpu LEARNER= SRC=$(COURSE)/common/runner/tests/labs OUT=$(@D)
	@touch $@

$(BUILD)/host/common/runner/tests/test_runner.o: HOST_C += -DTEST_BUILD='"$(PLAIN_BUILD)"'

$(BUILD)/tests/test_runner: $(BUILD)/host/common/runner/tests/test_runner.o $(BUILD)/grader/libgrader.a \
                            $(RUNNER_TEST)/built
	@mkdir -p $(@D)
	$(CC) -o $@ $(filter %.o %.a,$^) -lcriterion -lm

$(BUILD)/tests/test_generate: $(BUILD)/host/common/runner/tests/test_generate.o
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lcriterion -lm

TESTS += $(BUILD)/tests/test_runner $(BUILD)/tests/test_generate
-include $(BUILD)/host/common/runner/tests/test_runner.d $(BUILD)/host/common/runner/tests/test_generate.d

# On a GPU, without Criterion: kernels that cheat the timing, which must gain nothing.
$(BUILD)/tests/cheats: $(COURSE)/common/runner/tests/gpu/cheats.c $(BUILD)/grader/libgrader.a
	@mkdir -p $(@D)
	$(HOST_C) -o $@ $(filter %.c %.a,$^) -lm

.PHONY: test-cheats
test-cheats: $(BUILD)/tests/cheats
	@$(MAKE) -s --no-print-directory -f $(COURSE)/common/step.mk COURSE=$(COURSE) BACKEND=cuda \
	    SRC=$(COURSE)/common/runner/tests/gpu OUT=$(BUILD)/cuda/cheats
	@$(BUILD)/tests/cheats $(BUILD)/cuda/cheats/cheats

-include $(BUILD)/tests/cheats.d
