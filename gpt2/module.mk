# gpt2/module.mk — the GPT-2 of lab 4: the library and its tests. What needs no GPU and no kernel is in libgpt2_host.a:
# files (gpt2/, gpt2/formats/) and the tokenizer (gpt2/tokenizer/). Its packages: tools/install.sh gpt2.
#
# Every tests/test_NAME.c beside the sources is the Criterion program $(BUILD)/tests/test_NAME.

GPT2_HOST_SOURCES := $(patsubst $(COURSE)/%,%,$(wildcard $(COURSE)/gpt2/*.c $(COURSE)/gpt2/formats/*.c \
                                                         $(COURSE)/gpt2/tokenizer/*.c))
GPT2_HOST_OBJECTS := $(patsubst %.c,$(BUILD)/host/%.o,$(GPT2_HOST_SOURCES))
GPT2_HOST_LIBRARY := $(BUILD)/gpt2/libgpt2_host.a
COMMA             := ,
GPT2_HOST_LIBS    := -lcjson -lpcre2-8 -lm
GPT2_HOST_TEST_SOURCES := $(filter-out $(COURSE)/gpt2/model/% $(COURSE)/gpt2/train/% $(COURSE)/gpt2/program/%,\
                            $(wildcard $(COURSE)/gpt2/tests/test_*.c $(COURSE)/gpt2/*/tests/test_*.c))
GPT2_HOST_TESTS   := $(notdir $(basename $(GPT2_HOST_TEST_SOURCES)))
TESTS += $(addprefix $(BUILD)/tests/,$(GPT2_HOST_TESTS))

$(BUILD)/host/gpt2/formats/number.o $(BUILD)/host/gpt2/formats/weights.o: HOST_C += -O3 # loops worth the vectors

$(GPT2_HOST_LIBRARY): $(GPT2_HOST_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

# $(1): gpt2/tests or gpt2/formats/tests, ...; $(2): test_x
define gpt2_host_test
$(BUILD)/tests/$(2): $(BUILD)/host/$(1)/$(2).o $(GPT2_HOST_LIBRARY)
	@mkdir -p $$(@D)
	$$(CC) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) -lcriterion $$(GPT2_HOST_LIBS) $$(TEST_LIBS)
endef
$(foreach test,$(patsubst $(COURSE)/%.c,%,$(GPT2_HOST_TEST_SOURCES)),\
    $(eval $(call gpt2_host_test,$(patsubst %/,%,$(dir $(test))),$(notdir $(test)))))

# The grader's references of whole models are compared with this one.
$(BUILD)/tests/test_wiring $(BUILD)/tests/test_wiring_backward: $(GPT2_HOST_LIBRARY)
$(BUILD)/tests/test_wiring $(BUILD)/tests/test_wiring_backward: TEST_LIBS += $(GPT2_HOST_LIBS)

# There the library's allocations can be made to fail.
$(BUILD)/tests/test_out_of_memory: TEST_LIBS += $(patsubst %,-Wl$(COMMA)--wrap=%,malloc calloc realloc strdup)

-include $(GPT2_HOST_OBJECTS:.o=.d) $(wildcard $(BUILD)/host/gpt2/fuzz/*.d $(BUILD)/host/gpt2/tests/*.d $(BUILD)/host/gpt2/*/tests/*.d)

# ---- the tokenizer from the command line ----
TOKENIZE := $(BUILD)/gpt2/tokenize
$(TOKENIZE): $(BUILD)/host/gpt2/tools/tokenize.o $(GPT2_HOST_LIBRARY)
	$(CC) -o $@ $^ $(GPT2_HOST_LIBS)

$(BUILD)/gpt2/random_model: $(BUILD)/host/gpt2/tools/random_model.o $(GPT2_HOST_LIBRARY)
	$(CC) -o $@ $^ $(GPT2_HOST_LIBS)

-include $(wildcard $(BUILD)/host/gpt2/tools/*.d)

# Tried, and compared with Hugging Face's where Python has that; the program is built with the tests.
SHELL_TESTS += gpt2/tokenizer/tests/test_tokenize.sh gpt2/tokenizer/tests/test_compare.sh
$(BUILD)/tests/test_tokenizer: | $(TOKENIZE)

# ---- fuzzing: the targets under a deterministic test (above), and under libFuzzer ----
$(BUILD)/tests/test_gpt2_fuzz: $(BUILD)/host/gpt2/fuzz/targets.o $(BUILD)/host/gpt2/fuzz/seeds.o

FUZZ_CC      ?= $(firstword $(shell command -v clang) $(foreach v,19 18 17 16 15 14,$(shell command -v clang-$(v))))
FUZZ_SECONDS ?= 30
FUZZ_SOURCES := $(addprefix $(COURSE)/,$(GPT2_HOST_SOURCES) gpt2/fuzz/targets.c gpt2/fuzz/seeds.c gpt2/fuzz/fuzz.c)
FUZZ_PROGRAM := $(BUILD)/gpt2/fuzz

$(FUZZ_PROGRAM): $(FUZZ_SOURCES) $(wildcard $(COURSE)/gpt2/*.h $(COURSE)/gpt2/*/*.h)
	@[ -n '$(FUZZ_CC)' ] || { echo 'make fuzz needs clang, for libFuzzer: apt-get install clang' >&2; exit 2; }
	@mkdir -p $(@D)
	$(FUZZ_CC) -std=c17 $(WARNINGS) -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -D_GNU_SOURCE \
	    -I$(COURSE) -o $@ $(FUZZ_SOURCES) $(GPT2_HOST_LIBS)

# ---- what runs on a GPU or on the CPU backend ----
include $(wildcard $(COURSE)/gpt2/kernels/module.mk $(COURSE)/gpt2/model/module.mk $(COURSE)/gpt2/train/module.mk \
    $(COURSE)/gpt2/program/module.mk)
