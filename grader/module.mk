# grader/module.mk — the grader and the tests of grader/ and of common/*.c.
#
# Every grader/*.c but main.c goes into $(BUILD)/grader/libgrader.a, with ops, inputs and reference of common/; the
# program is $(BUILD)/grader/grader. Every grader/tests/test_NAME.c and common/tests/test_NAME.c becomes the Criterion
# program $(BUILD)/tests/test_NAME, linked with that library, by a pattern: a new test needs no rule.
# A test that needs more adds a target-specific line in its owner's module.mk:
#   $(BUILD)/tests/test_NAME: TEST_LIBS += -lfoo        $(BUILD)/tests/test_NAME: prerequisite

GRADER_SOURCES := $(filter-out grader/main.c,$(patsubst $(COURSE)/%,%,$(wildcard $(COURSE)/grader/*.c)))
COMMON_SOURCES := $(patsubst $(COURSE)/%,%,$(wildcard $(COURSE)/common/*.c))
GRADER_OBJECTS := $(patsubst %.c,$(BUILD)/host/%.o,$(GRADER_SOURCES) $(COMMON_SOURCES))
GRADER_TESTS   := $(notdir $(wildcard $(COURSE)/grader/tests/test_*.c) $(wildcard $(COURSE)/common/tests/test_*.c))
GRADER_TESTS   := $(patsubst %.c,$(BUILD)/tests/%,$(GRADER_TESTS))

GRADER   := $(BUILD)/grader/grader
TESTS    += $(GRADER_TESTS)
TEST_LIBS ?=

$(BUILD)/host/%.o: $(COURSE)/%.c
	@mkdir -p $(@D)
	$(HOST_C) -D_GNU_SOURCE -c -o $@ $<

$(BUILD)/grader/libgrader.a: $(GRADER_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

$(GRADER): $(BUILD)/host/grader/main.o $(BUILD)/grader/libgrader.a
	$(CC) -o $@ $^ -lm -lpthread

# Criterion's TestSuite macros trip -Wpedantic nowhere else, so the same warnings hold for tests.
$(BUILD)/tests/test_%: $(BUILD)/host/grader/tests/test_%.o $(BUILD)/grader/libgrader.a
	@mkdir -p $(@D)
	$(CC) -o $@ $(filter %.o %.a,$^) -lcriterion -lcjson -lm -lpthread $(TEST_LIBS)

$(BUILD)/tests/test_%: $(BUILD)/host/common/tests/test_%.o $(BUILD)/grader/libgrader.a
	@mkdir -p $(@D)
	$(CC) -o $@ $(filter %.o %.a,$^) -lcriterion -lcjson -lm -lpthread $(TEST_LIBS)

# The corpus test runs many graders at once: what they share is built before, once.
$(BUILD)/tests/test_corpus: $(BUILD)/corpus/ready

$(BUILD)/corpus/ready: $(GRADER) $(wildcard step1_naive/solution/residual.cu)
	@mkdir -p $(@D)/shared
	@cp step1_naive/solution/residual.cu $(@D)/shared/
	$(GRADER) step1 --backend cpu --kernel residual_forward --files $(@D)/shared --out $(@D)/shared/build >/dev/null; \
	    test $$? -le 1
	@touch $@

.SECONDARY: $(patsubst %.c,$(BUILD)/host/%.o,$(wildcard grader/tests/test_*.c common/tests/test_*.c))

-include $(GRADER_OBJECTS:.o=.d) $(BUILD)/host/grader/main.d
-include $(patsubst $(BUILD)/tests/%,$(BUILD)/host/grader/tests/%.d,$(GRADER_TESTS))
-include $(patsubst $(BUILD)/tests/%,$(BUILD)/host/common/tests/%.d,$(GRADER_TESTS))
