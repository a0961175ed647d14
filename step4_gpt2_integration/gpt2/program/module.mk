# The program: $(BUILD)/gpt2/$(BACKEND)/gpt2, with the kernel sets in kernels/ beside it.

GPT2 := $(GPT2_OUT)/gpt2
GPT2_PROGRAM_OBJECTS := $(patsubst %,$(GPT2_OUT)/program/%.o,$(notdir $(basename $(wildcard $(GPT2_DIR)/program/*.c))))

$(GPT2_OUT)/program/%.o: $(GPT2_DIR)/program/%.c
	@mkdir -p $(@D)
	$(GPT2_HOST_C) $(GPT2_CUDA_INCLUDE) -c -o $@ $<

$(GPT2_OUT)/program/options.o: HOST_C += -DGPT2_DIR='"$(GPT2_DIR)"' # the folder of the model that ships with the course

$(GPT2): $(GPT2_PROGRAM_OBJECTS) $(GPT2_TRAIN_OBJECTS) $(GPT2_COLLECTIVE_OBJECTS) $(GPT2_OUT)/libgpt2.a $(GPT2_HOST_LIBRARY) $(GPT2_RUNTIME) \
    | $(GPT2_KERNELS)
	$(GPT2_LINK) $(GPT2_COLLECTIVE_LIBS)

$(GPT2_OUT)/gpt2-alone: $(GPT2_PROGRAM_OBJECTS) # train/module.mk

.PHONY: gpt2 bench-gpt2
gpt2:
	@$(COURSE)/tools/install.sh gpt2
	@$(MAKE) --no-print-directory $(GPT2)

# The learner's program, $(GPT2_OUT)/gpt2-lab: the same around the learner's three files of lab 4. Its set `lab` has the learner's kernels
# of lab 3, if they compile.
ifneq ($(wildcard $(COURSE)/$(GPT2_LAB)/step4_gpt2_integration),)
GPT2_OWN_NAMES   := $(filter-out block_backward,$(notdir $(basename $(wildcard $(COURSE)/$(GPT2_LAB)/step4_gpt2_integration/*.cu))))
GPT2_OWN_OBJECTS := $(GPT2_OWN_NAMES:%=$(GPT2_OUT)/own/%.o)
$(GPT2_OWN_OBJECTS): $(GPT2_OUT)/own/%.o: $(COURSE)/$(GPT2_LAB)/step4_gpt2_integration/%.cu $(GPT2_CU_NEEDS)
	@mkdir -p $(@D)
	$(subst $(COMMA)-Wextra,,$(filter-out -Wextra,$(GPT2_COMPILE_FAST)))

$(GPT2_OUT)/gpt2-lab: private GPT2_PARTS_OBJECTS :=
$(GPT2_OUT)/gpt2-lab: $(GPT2_PROGRAM_OBJECTS) $(GPT2_TRAIN_OBJECTS) $(GPT2_COLLECTIVE_OBJECTS) $(GPT2_OWN_OBJECTS) $(GPT2_OUT)/libgpt2.a $(GPT2_HOST_LIBRARY) $(GPT2_RUNTIME) \
    | $(GPT2_KERNELS)
	@realpath $(GPT2_OWN_NAMES:%=$(COURSE)/$(GPT2_LAB)/step4_gpt2_integration/%.cu) >$@.sources # see stale.c
	$(GPT2_LINK) $(GPT2_COLLECTIVE_LIBS)

.PHONY: gpt2-lab
gpt2-lab: $(GPT2_OUT)/gpt2-lab kernels-lab
endif

# On a GPU: the model's tests there, then figures beside PyTorch, into docs/results/gpt2/.
bench-gpt2:
	@tools/install.sh gpu
	@tools/install.sh gpt2
	@tools/bench-gpt2

# A set with a wrong kernel, for the tests.
$(eval $(call gpt2_kernel_set,wrong,step4_gpt2_integration/gpt2/program/tests/wrong,bias_gelu layernorm))

# Its tests run the program; test_arguments.c, test_stop.c and test_bench.c are host C alone.
GPT2_PROGRAM_TESTS := $(filter-out test_arguments test_stop test_bench,$(notdir $(basename $(wildcard $(GPT2_DIR)/program/tests/test_*.c))))

$(GPT2_OUT)/program/tests/%.o: $(GPT2_DIR)/program/tests/%.c
	@mkdir -p $(@D)
	$(GPT2_HOST_C) $(GPT2_CUDA_INCLUDE) -DGPT2='"$(GPT2)"' -c -o $@ $<

$(GPT2_PROGRAM_TESTS:%=$(GPT2_TESTS_OUT)/%): $(GPT2_TESTS_OUT)/%: $(GPT2_OUT)/program/tests/%.o $(GPT2_HOST_LIBRARY) \
    | $(GPT2) $(GPT2_OUT)/kernels/kernels_wrong.so
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lcriterion $(GPT2_HOST_LIBS)

$(GPT2_TESTS_OUT)/test_arguments: $(GPT2_OUT)/program/tests/test_arguments.o $(GPT2_OUT)/program/arguments.o $(GPT2_HOST_LIBRARY)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lcriterion

$(GPT2_TESTS_OUT)/test_stop: $(GPT2_OUT)/program/tests/test_stop.o $(GPT2_OUT)/program/stop.o $(GPT2_HOST_LIBRARY)
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lcriterion $(GPT2_HOST_LIBS)

# A fake management library with a counter, for the test of energy_read.
$(GPT2_OUT)/program/tests/fake_nvml.so: $(GPT2_DIR)/program/tests/fake_nvml.c
	@mkdir -p $(@D)
	$(HOST_C) -fPIC -shared -o $@ $<

$(GPT2_OUT)/program/tests/test_bench.o: HOST_C += -DFAKE_NVML='"$(GPT2_OUT)/program/tests/fake_nvml.so"'
$(GPT2_TESTS_OUT)/test_bench: $(patsubst %,$(GPT2_OUT)/program/%.o,tests/test_bench bench_plan bench_figures synthetic \
    options run_path arguments) $(GPT2_HOST_LIBRARY) | $(GPT2_OUT)/program/tests/fake_nvml.so
	@mkdir -p $(@D)
	$(CC) -o $@ $^ -lcriterion $(GPT2_HOST_LIBS) -ldl

# The model that the course ships, and the script that makes it.
ifeq ($(BACKEND),cpu)
SHELL_TESTS += $(if $(wildcard $(GPT2_DIR)/tests),$(addprefix step4_gpt2_integration/gpt2/tests/,test_tiny.sh test_tiny_model.sh test_eight_bits.sh) \
    step4_gpt2_integration/gpt2/program/tests/test_ranks_generate.sh)
endif

TESTS += $(GPT2_PROGRAM_TESTS:%=$(GPT2_TESTS_OUT)/%) $(addprefix $(GPT2_TESTS_OUT)/,test_arguments test_stop test_bench)
SIMT_TEST_NAMES += $(GPT2_PROGRAM_TESTS)

-include $(wildcard $(GPT2_OUT)/program/*.d $(GPT2_OUT)/program/tests/*.d)
