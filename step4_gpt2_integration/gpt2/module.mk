# The GPT-2 of lab 4: the library and its tests. libgpt2_host.a has the parts without kernels: files (this folder and formats/), the
# tokenizer (tokenizer/), and the float64 transformer of common/. Its packages: tools/install.sh gpt2.
#
# Every tests/test_NAME.c beside the sources is the Criterion program $(BUILD)/tests/test_NAME.

GPT2_DIR     := $(COURSE)/step4_gpt2_integration/gpt2
GPT2_INCLUDE := -I$(COURSE)/step4_gpt2_integration $(OPS_FLAGS)
GPT2_HOST_C   = $(HOST_C) $(GPT2_INCLUDE)

GPT2_HOST_SOURCES := $(wildcard $(GPT2_DIR)/*.c $(GPT2_DIR)/formats/*.c $(GPT2_DIR)/tokenizer/*.c)
GPT2_HOST_OBJECTS := $(GPT2_HOST_SOURCES:$(GPT2_DIR)/%.c=$(BUILD)/host/gpt2/%.o) $(OPS_TRANSFORMER:%.c=$(BUILD)/host/%.o)
GPT2_HOST_LIBRARY := $(BUILD)/gpt2/libgpt2_host.a
COMMA             := ,
GPT2_HOST_LIBS    := -lcjson -lpcre2-8 -lm
GPT2_HOST_TEST_SOURCES := $(filter-out $(GPT2_DIR)/model/% $(GPT2_DIR)/train/% $(GPT2_DIR)/program/%,\
                            $(wildcard $(GPT2_DIR)/tests/test_*.c $(GPT2_DIR)/*/tests/test_*.c))
GPT2_HOST_TESTS   := $(notdir $(basename $(GPT2_HOST_TEST_SOURCES)))
TESTS += $(addprefix $(BUILD)/tests/,$(GPT2_HOST_TESTS))

$(BUILD)/host/gpt2/formats/number.o $(BUILD)/host/gpt2/formats/weights.o: HOST_C += -O3 # vectorised loops

$(BUILD)/host/gpt2/%.o: $(GPT2_DIR)/%.c
	@mkdir -p $(@D)
	$(GPT2_HOST_C) -D_GNU_SOURCE -c -o $@ $<

$(GPT2_HOST_LIBRARY): $(GPT2_HOST_OBJECTS)
	@mkdir -p $(@D)
	@rm -f $@
	$(AR) rcs $@ $^

# $(1): tests/test_x or formats/tests/test_x, ...
define gpt2_host_test
$(BUILD)/tests/$(notdir $(1)): $(BUILD)/host/gpt2/$(1).o $(GPT2_HOST_LIBRARY)
	@mkdir -p $$(@D)
	$$(CC) -o $$@ $$(filter %.o,$$^) $$(filter %.a,$$^) -lcriterion $$(GPT2_HOST_LIBS) $$(TEST_LIBS)
endef
$(foreach test,$(GPT2_HOST_TEST_SOURCES:$(GPT2_DIR)/%.c=%),$(eval $(call gpt2_host_test,$(test))))

# In this test the library's allocations can be made to fail.
$(BUILD)/tests/test_out_of_memory: TEST_LIBS += $(patsubst %,-Wl$(COMMA)--wrap=%,malloc calloc realloc strdup)

-include $(GPT2_HOST_OBJECTS:.o=.d) $(wildcard $(BUILD)/host/gpt2/fuzz/*.d $(BUILD)/host/gpt2/tests/*.d $(BUILD)/host/gpt2/*/tests/*.d)

# ---- the tokenizer from the command line ----
TOKENIZE := $(BUILD)/gpt2/tokenize
$(TOKENIZE): $(BUILD)/host/gpt2/tools/tokenize.o $(GPT2_HOST_LIBRARY)
	$(CC) -o $@ $^ $(GPT2_HOST_LIBS)

$(BUILD)/gpt2/random_model: $(BUILD)/host/gpt2/tools/random_model.o $(GPT2_HOST_LIBRARY)
	$(CC) -o $@ $^ $(GPT2_HOST_LIBS)

$(BUILD)/gpt2/plant_outliers: $(BUILD)/host/gpt2/tools/plant_outliers.o $(GPT2_HOST_LIBRARY)
	$(CC) -o $@ $^ $(GPT2_HOST_LIBS)
$(BUILD)/tests/test_quantize: | $(BUILD)/gpt2/plant_outliers # which test_eight_bits.sh calls

-include $(wildcard $(BUILD)/host/gpt2/tools/*.d)

# Tests of the program, and a comparison with Hugging Face's tokenizer where Python has it. The program is built with the tests.
SHELL_TESTS += $(addprefix step4_gpt2_integration/gpt2/tokenizer/tests/,test_tokenize.sh test_compare.sh test_folders.sh)
$(BUILD)/tests/test_tokenizer: | $(TOKENIZE)

# ---- fuzzing: the targets in a deterministic test (above), and under libFuzzer ----
$(BUILD)/tests/test_gpt2_fuzz: $(BUILD)/host/gpt2/fuzz/targets.o $(BUILD)/host/gpt2/fuzz/seeds.o

FUZZ_CC      ?= $(firstword $(shell command -v clang) $(foreach v,19 18 17 16 15 14,$(shell command -v clang-$(v))))
FUZZ_SECONDS ?= 30
FUZZ_SOURCES := $(GPT2_HOST_SOURCES) $(OPS_TRANSFORMER:%=$(COURSE)/%) $(addprefix $(GPT2_DIR)/fuzz/,targets.c seeds.c fuzz.c)
FUZZ_PROGRAM := $(BUILD)/gpt2/fuzz

$(FUZZ_PROGRAM): $(FUZZ_SOURCES) $(wildcard $(GPT2_DIR)/*.h $(GPT2_DIR)/*/*.h)
	@[ -n '$(FUZZ_CC)' ] || { echo 'make fuzz needs clang, for libFuzzer: apt-get install clang' >&2; exit 2; }
	@mkdir -p $(@D)
	$(FUZZ_CC) -std=c17 $(WARNINGS) -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -D_GNU_SOURCE \
	    -I$(COURSE) $(GPT2_INCLUDE) -o $@ $(FUZZ_SOURCES) $(GPT2_HOST_LIBS)

# ---- the parts that run on a GPU or on the CPU backend ----
include $(wildcard $(GPT2_DIR)/kernels/module.mk $(GPT2_DIR)/model/module.mk $(GPT2_DIR)/train/module.mk \
    $(GPT2_DIR)/program/module.mk)
