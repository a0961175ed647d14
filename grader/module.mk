# grader/module.mk — the grader and the tests of grader/ and of common/*.c.
#
# Every grader/*.c but main.c goes into $(BUILD)/grader/libgrader.a, with ops, inputs and reference of common/; the
# program is $(BUILD)/grader/grader. Every grader/tests/test_NAME.c and common/tests/test_NAME.c becomes the Criterion
# program $(BUILD)/tests/test_NAME, linked with that library, by a pattern: a new test needs no rule.
# A test that needs more adds a target-specific line in its owner's module.mk:
#   $(BUILD)/tests/test_NAME: TEST_LIBS += -lfoo        $(BUILD)/tests/test_NAME: prerequisite

GRADER_SOURCES := $(filter-out grader/main.c grader/compile.c,$(patsubst $(COURSE)/%,%,$(wildcard $(COURSE)/grader/*.c)))
ifndef OPS_INCLUDE
include $(COURSE)/common/ops/module.mk
endif
GRADER_OBJECTS := $(patsubst %.c,$(BUILD)/host/%.o,$(GRADER_SOURCES) $(OPS_SOURCES))
GRADER_TESTS   := $(notdir $(wildcard $(COURSE)/grader/tests/test_*.c) $(wildcard $(COURSE)/common/tests/test_*.c))
GRADER_TESTS   := $(patsubst %.c,$(BUILD)/tests/%,$(GRADER_TESTS))

SHELL_TESTS    += grader/tests/test_outputs.sh grader/tests/test_batch.sh grader/tests/test_open.sh grader/tests/test_progress.sh

# Under sanitizers these two would only run the same programs again.
ifneq ($(SANITIZE),)
GRADER_TESTS := $(filter-out %/test_corpus %/test_ladders,$(GRADER_TESTS))
endif

GRADER   := $(BUILD)/grader/grader
TESTS    += $(GRADER_TESTS)
SHELL_TESTS += grader/tests/test_attacks.sh grader/tests/test_killed.sh
TEST_LIBS ?=

$(BUILD)/host/%.o: $(COURSE)/%.c | $(OPS_INDEX)
	@mkdir -p $(@D)
	$(HOST_C) -D_GNU_SOURCE $(OPS_FLAGS) -c -o $@ $<

$(BUILD)/grader/libgrader.a: $(GRADER_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

# The sandbox of the compiler.
COMPILE := $(BUILD)/grader/compile
$(COMPILE): $(BUILD)/host/grader/compile.o $(BUILD)/host/grader/sandbox.o
	@mkdir -p $(@D)
	$(CC) -o $@ $^

$(GRADER): | $(COMPILE)
$(GRADER): $(BUILD)/host/grader/main.o $(BUILD)/grader/libgrader.a
	$(CC) -o $@ $^ -lm -lpthread

$(BUILD)/tests/test_%: $(BUILD)/host/grader/tests/test_%.o $(BUILD)/grader/libgrader.a
	@mkdir -p $(@D)
	$(CC) -o $@ $(filter %.o %.a,$^) -lcriterion -lcjson -lm -lpthread $(TEST_LIBS)

$(BUILD)/tests/test_%: $(BUILD)/host/common/tests/test_%.o $(BUILD)/grader/libgrader.a
	@mkdir -p $(@D)
	$(CC) -o $@ $(filter %.o %.a,$^) -lcriterion -lcjson -lm -lpthread $(TEST_LIBS)

# The tests of the ops' references, each in its op's folder, are one program. It compares the contracts with the descriptions
# by the signatures that the runner has.
OP_TEST_OBJECTS := $(patsubst $(COURSE)/%.c,$(BUILD)/host/%.o,$(wildcard $(COURSE)/common/ops/*/tests/test_*.c))
LAUNCHERS       := $(BUILD)/host/common/runner/launchers.o

$(LAUNCHERS): $(COURSE)/common/runner/launchers.cpp | $(OPS_INDEX)
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(WARNINGS) -O2 -g -I$(COURSE) $(OPS_FLAGS) -I$(COURSE)/common/simt/include -MMD -MP -c -o $@ $<

$(BUILD)/host/common/tests/test_op_references.o: HOST_C += -I$(COURSE)/common/simt/include
$(BUILD)/tests/test_op_references: $(OP_TEST_OBJECTS) $(LAUNCHERS)
$(BUILD)/tests/test_op_references: TEST_LIBS += $(BUILD)/grader/libgrader.a -lstdc++ -lm

# The grader with each job run twice, for make test-arm.
TWIN       := $(BUILD)/grader/twin
TWIN_WRAPS := runner_start runner_call sandbox_enter execveat
$(TWIN): $(BUILD)/host/grader/main.o $(BUILD)/host/grader/tests/emulated/twin.o $(BUILD)/grader/libgrader.a
	@mkdir -p $(@D)
	$(CC) -o $@ $(TWIN_WRAPS:%=-Wl,--wrap=%) $^ -lm -lpthread
-include $(BUILD)/host/grader/tests/emulated/twin.d

# The corpus and the ladders start many graders at once, so they use the ordinary build, which is made before them.
PLAIN_BUILD ?= $(patsubst %/asan,%,$(BUILD))
SOLUTIONS   := $(wildcard $(COURSE)/step*/solution)
PLAIN_STEP  := $(MAKE) -s --no-print-directory -f $(COURSE)/common/step.mk COURSE=$(COURSE) BUILD=$(PLAIN_BUILD) SANITIZE= \
                   BACKEND=cpu

.PHONY: ladder-programs
ladder-programs: $(PLAIN_BUILD)/simt/libsimt_checked.a $(PLAIN_BUILD)/simt/translate
	@+set -e; for solution in $(SOLUTIONS); do \
	    $(PLAIN_STEP) SRC=$$solution OUT=$(PLAIN_BUILD)/ladders/$$(basename $$(dirname $$solution)); done

$(patsubst %,$(BUILD)/tests/test_%,corpus ladders same_plan rerun not_run): | ladder-programs
$(patsubst %,$(BUILD)/tests/test_%,corpus rerun not_run): | $(PLAIN_BUILD)/grader/grader
$(patsubst %,$(BUILD)/host/grader/tests/test_%.o,corpus ladders same_plan rerun not_run): HOST_C += -DTEST_BUILD='"$(PLAIN_BUILD)"'

# A substitute for the program around a lab's files, for test_rate.
$(PLAIN_BUILD)/fake_gpt2: $(COURSE)/grader/tests/fake/gpt2.c
	@mkdir -p $(@D)
	$(HOST_C) -o $@ $<
$(BUILD)/tests/test_rate: | $(PLAIN_BUILD)/fake_gpt2
$(BUILD)/host/grader/tests/test_rate.o: HOST_C += -DTEST_BUILD='"$(PLAIN_BUILD)"'

.SECONDARY: $(patsubst %.c,$(BUILD)/host/%.o,$(wildcard grader/tests/test_*.c common/tests/test_*.c))

-include $(GRADER_OBJECTS:.o=.d) $(OP_TEST_OBJECTS:.o=.d) $(LAUNCHERS:.o=.d) $(BUILD)/host/grader/main.d
-include $(patsubst $(BUILD)/tests/%,$(BUILD)/host/grader/tests/%.d,$(GRADER_TESTS))
-include $(patsubst $(BUILD)/tests/%,$(BUILD)/host/common/tests/%.d,$(GRADER_TESTS))
