# The course's one entry. `make` alone prints help. Everything built lands in build/; students work in lab/.
# A folder joins by a module.mk of its own, which may add to
#   PROGRAMS     what a lab needs built: the grader, the CPU backend
#   TESTS        Criterion binaries, build/tests/test_x of tests/test_x.c
#   SHELL_TESTS  scripts that print TAP
#   CHECKS       targets that `make check` builds first
.DEFAULT_GOAL := help
COURSE := .
include common/config.mk

ifneq ($(words $(CURDIR)),1)
$(error This folder's path has a space in it, which make cannot handle: $(CURDIR). Move the checkout to a path without)
endif
ifneq ($(filter-out help,$(MAKECMDGOALS)),)
ifneq ($(shell [ -w . ] && echo yes),yes)
$(error This checkout is read-only, and builds land in build/. Copy it to a folder of yours: cp -r $(CURDIR) ~/course)
endif
endif

# A step is a folder stepN_subject with a skeleton; its name on the command line is stepN.
STEP_FOLDERS := $(sort $(patsubst %/skeleton,%,$(wildcard step[0-9]*_*/skeleton)))
STEPS := $(foreach folder,$(STEP_FOLDERS),$(firstword $(subst _, ,$(folder))))
step_folder = $(firstword $(filter $(1)_%,$(STEP_FOLDERS)))

PROGRAMS := $(if $(wildcard grader/module.mk),$(BUILD)/grader/grader) \
            $(if $(wildcard common/simt/module.mk),$(BUILD)/simt/libsimt_checked.a $(BUILD)/simt/libsimt_fast.a \
                                                $(BUILD)/simt/translate)
TESTS :=
SHELL_TESTS :=
CHECKS :=
include $(wildcard common/module.mk common/*/module.mk grader/module.mk tools/module.mk step*/*/module.mk)

.PHONY: help
help: ## this list
	@printf 'GPU kernels in C and CUDA C. Start with:  make lab\n\n'
	@awk -F':.*## ' '/^[a-z][a-zA-Z0-9_ -]*:.*## /{printf "  make %-14s %s\n",$$1,$$2}' Makefile
	@printf '  make %-14s %s\n' '$(firstword $(STEPS))..$(lastword $(STEPS))' 'build a step in lab/'

# ---- the student's folder -------------------------------------------------------------------------------------------

.PHONY: lab lab-reset handout gradescope grade graph programs demo simt-cc pytorch $(STEPS)
lab: ## make lab/, where you work; installs what is missing
	@tools/install.sh build
	@[ -e $(BUILD)/grader/grader ] || echo 'Building the grader and the CPU backend, once: about half a minute.'
	+@$(call building,$(BUILD)/grader/grader) programs
	@tools/lab.sh create

lab-reset: ## start a step again, after a backup: STEP=step1
	@tools/lab.sh reset '$(STEP)'

handout: ## pack lab/ as a self-contained archive for students
	@tools/install.sh build
	+@$(call building,$(BUILD)/grader/grader) programs
	@tools/lab.sh handout

gradescope: ## pack a lab's autograder: STEP=step1 CONFIG=class.conf SEED=N
	@tools/install.sh gradescope
	+@$(call building,$(BUILD)/grader/grader) programs
	@tools/gradescope/pack '$(STEP)' '$(CONFIG)' '$(SEED)'

demo: ## a tiny GPT-2 writes: PROMPT="In the beginning"
	@tools/install.sh gpt2
	@[ -e $(GPT2) ] || echo 'Building the program gpt2, once: a minute or two.'
	+@$(call building,$(GPT2)) gpt2
	@tools/demo $(GPT2) # PROMPT and SEED reach it through the environment

simt-cc: ## the CPU backend's compiler, for programs of your own
	@tools/install.sh gpt2
	+@$(call building,$(BUILD)/simt-cc) programs $(SIMT_CUBLAS_CHECKED) $(SIMT_CUBLAS_FAST)
	@ln -sfn $(CURDIR)/common/simt/simt-cc $(BUILD)/simt-cc
	@echo 'Built build/simt-cc. Try:  build/simt-cc program.cu -o program && ./program'

pytorch: ## the kernels as a library for PyTorch; KERNELS=FOLDER: yours
	@tools/install.sh build
	@echo 'Building the kernels for Python, once: some minutes.'
	+@$(call building) pytorch-libraries
	@echo 'Built build/pytorch$(if $(KERNELS),/own). Try:  python3 step4_gpt2_integration/pytorch/demo.py'

# What a lab needs built, in parallel unless the caller said otherwise. -s: a learner is not shown compiler command lines.
PARALLEL = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
# While FILE is not there, a build takes longer than people wait in silence.
building = $(if $(wildcard $(1)),,tools/progress) $(MAKE) -s --no-print-directory $(PARALLEL)
programs: $(PROGRAMS)
	@:

$(STEPS):
	@[ -f lab/Makefile ] || $(MAKE) --no-print-directory lab
	@$(MAKE) --no-print-directory -C lab $@ FROM_ROOT=1

grade: ## mark lab/: STEP=step1; SOLUTION=1 marks the reference
	@$(MAKE) --no-print-directory -s -f common/step.mk SRC=$(call step_folder,$(STEP))/skeleton OUT=$(BUILD) packages
	+@$(call building,$(BUILD)/grader/grader) programs
	@$(MAKE) --no-print-directory grade-now

graph: ## draw the kernels of lab/, launches and bytes: STEP=step3
	@tools/install.sh diagrams
	@$(MAKE) --no-print-directory -s $(PARALLEL) programs
ifdef SOLUTION
	@+common/graph . '$(STEP)' solution || [ $$? -eq 1 ]
else
	@[ -f lab/Makefile ] || tools/lab.sh create
	@$(MAKE) --no-print-directory -C lab graph STEP='$(STEP)'
endif

.PHONY: grade-now
grade-now: programs
	@[ -n '$(call step_folder,$(STEP))' ] || { echo "make grade: say which step: STEP=$(firstword $(STEPS)) (there are: $(STEPS))" >&2; exit 2; }
ifdef SOLUTION
	@$(BUILD)/grader/grader $(STEP) --files $(call step_folder,$(STEP))/solution --out $(BUILD)/$(BACKEND)/$(call step_folder,$(STEP))/solution $(ARGS)
else
	@[ -f lab/Makefile ] || tools/lab.sh create
	@cd lab && ./grader $(STEP) $(ARGS) || [ $$? -eq 1 ] # fewer marks are a result: no error of make
endif

# ---- tests ----------------------------------------------------------------------------------------------------------

.PHONY: test test-long test-all test-build test-build-long test-build-all test-run test-asan test-host fuzz test-gpu test-notebooks writeups test-pytorch

# Tests that `make test` leaves out; test-long runs all but those that build the course again:
#   - training
#   - the model under the checks of the CPU backend
#   - lab 3's solutions with the choices that they make on other GPUs
#   - random kernels and random files
#   - a class that is marked, killed and marked again; the autograder for Gradescope, unpacked and built
#   - the build of the archive that is handed out, and gradings that start at once in an empty build folder
#   - the guide's recipe for an exercise, and an op without each of its pieces
#   - comparisons that need PyTorch or transformers
# `make test-all` also has TEST_ALL=1 in the environment, with which other tests try more.
LONG_TESTS := test_training test_training_fused test_training_products test_training_checked test_training_fused_checked \
              test_train_program test_train_resume test_train_compare.sh test_ranks.sh test_ranks_generate.sh \
              test_optimizer_checked test_tiny_model.sh test_forms_checked test_model_checked test_step_launches_checked test_dispatch \
              test_random_kernels test_translate_fuzz test_gpt2_fuzz test_handout_builds.sh \
              test_hf_compare.sh test_hf_wirings.sh test_hf_folders.sh test_compare.sh test_folders.sh test_gpt2_bench.sh \
              test_new_exercise.sh test_op_pieces.sh test_side_by_side.sh test_batch.sh test_gradescope.sh
BUILD_AGAIN := test_handout_builds.sh test_new_exercise.sh test_op_pieces.sh test_side_by_side.sh
long = $(filter-out $(addprefix %/,$(BUILD_AGAIN)),$(1))
all = $(1)
QUICK = $(filter-out $(addprefix %/,$(LONG_TESTS)),$(1))
SMOKE_TEST := test_judge
ASAN = BUILD=$(BUILD)/asan SANITIZE=address,undefined
RUN_TESTS = CC='$(CC)' CXX='$(CXX)' tools/run-tests

test: ## install what the tests need, build and run the most telling ones
	@tools/install.sh test
	@tools/progress $(MAKE) --no-print-directory $(PARALLEL) test-build
	@$(MAKE) --no-print-directory -s test-run

test-long: ## the long tests, too, and host C under sanitizers
test-all: ## all tests, with all wrong and right kernels
test-long test-all:
	@tools/install.sh test
	@tools/progress $(MAKE) --no-print-directory $(PARALLEL) test-build-$(@:test-%=%)
	@$(if $(filter test-all,$@),TEST_ALL=1) TEST_TIMEOUT=$${TEST_TIMEOUT:-1800} $(RUN_TESTS) $(call $(@:test-%=%),$(TESTS) $(SHELL_TESTS))
	@$(MAKE) --no-print-directory test-asan

test-build: programs $(call QUICK,$(TESTS)) corpus-quick $(GPT2) $(BUILD)/gpt2/tokenize
	+@$(MAKE) --no-print-directory $(ASAN) $(BUILD)/asan/tests/$(SMOKE_TEST)

test-build-long: corpus-quick
test-build-all: corpus-list
test-build-long test-build-all: programs $(TESTS) $(GPT2) $(BUILD)/gpt2/tokenize
	@$(foreach test,$(filter-out $(notdir $(TESTS) $(SHELL_TESTS)),$(LONG_TESTS)),$(error LONG_TESTS: there is no $(test)))

test-run:
	@$(RUN_TESTS) $(call QUICK,$(TESTS) $(SHELL_TESTS)) $(BUILD)/asan/tests/$(SMOKE_TEST)

# Kernels of the corpus, compiled: those that `make test` marks, or all.
.PHONY: corpus-quick corpus-list
corpus-quick corpus-list: corpus-%: $(BUILD)/grader/grader ladder-programs
	@tools/corpus $* | BUILD=$(BUILD) CXX='$(CXX)' xargs -P $(or $(CORPUS_JOBS),$(shell nproc)) -n 4 tools/corpus build

# Host C only: the backend's own tests switch stacks, which the address sanitizer does not follow. The programs that tests start
# (runners, hostile programs) are the ordinary build, which is made first. Two tests are left out, because they do nothing but
# start such programs.
test-asan: ## tests of host C again, under sanitizers
	@tools/install.sh test
	@tools/progress $(MAKE) --no-print-directory $(PARALLEL) test-build
	@tools/progress $(MAKE) --no-print-directory $(PARALLEL) $(ASAN) test-host
	@$(MAKE) --no-print-directory -s $(ASAN) test-host-run

.PHONY: test-host-run
HOST_TESTS = $(filter-out $(addprefix $(BUILD)/tests/,$(SIMT_TEST_NAMES) test_corpus test_ladders),$(TESTS))
test-host: $(HOST_TESTS)
	@:

test-host-run:
	@$(RUN_TESTS) $(HOST_TESTS)

# All programs compile for ARM. Those whose tests cannot be emulated do not run: the grader's sandbox needs system calls that qemu
# does not have. test_headers only compiles.
.PHONY: test-arm emulated test-emulated
EMULATED := $(filter-out test_headers,$(basename $(notdir $(wildcard common/simt/tests/test_*.c common/simt/cublas/tests/test_*.c))))
EMULATED := $(addprefix $(BUILD)/tests/,$(EMULATED) $(SIMT_FAST_TESTS:%=test_%_fast))

test-arm: ## the CPU backend on 64-bit ARM, under qemu-user
	@tools/install.sh test
	@tools/install.sh arm
	@tools/arm-packages $(BUILD)/aarch64/packages
	@tools/progress $(MAKE) --no-print-directory $(PARALLEL) programs $(TWIN)
	@tools/progress $(MAKE) --no-print-directory $(PARALLEL) CROSS=aarch64 BUILD=$(BUILD)/aarch64 emulated
	@$(MAKE) --no-print-directory -s CROSS=aarch64 BUILD=$(BUILD)/aarch64 test-emulated

emulated: programs $(GPT2) $(EMULATED) $(BUILD)/tests/test_programs
	@:

test-emulated:
	@env -u CROSS -u BUILD TEST_TIMEOUT=$${TEST_TIMEOUT:-1800} tools/run-tests grader/tests/emulated/test_twins.sh $(BUILD)/tests/test_programs $(EMULATED)

fuzz: ## libFuzzer on what reads files: FUZZ_SECONDS=30
	@tools/install.sh fuzz
	@$(MAKE) --no-print-directory -s $(FUZZ_PROGRAM)
	@tools/fuzz $(FUZZ_PROGRAM) $(FUZZ_SECONDS) $(FUZZ_TARGETS)

test-gpu: ## every solution's marks on this machine's GPU
	@tools/install.sh gpu
	@tools/install.sh test
	@$(MAKE) --no-print-directory BACKEND=cuda programs
	@tools/test-gpu $(STEPS)

test-notebooks writeups: NOTEBOOK_PYTHON = $$(tools/python-with nbclient nbformat ipykernel matplotlib numpy)
test-notebooks: ## run the write-ups (needs jupyter)
	@tools/install.sh notebooks
	@$(MAKE) --no-print-directory -s $(PARALLEL) programs
	@$(NOTEBOOK_PYTHON) tools/writeups $(STEP)

writeups: ## run them into the book: docs/writeup-*.md; STEP=step1
	@tools/install.sh notebooks
	@$(MAKE) --no-print-directory -s $(PARALLEL) programs
	@$(NOTEBOOK_PYTHON) tools/writeups --write $(STEP)

test-pytorch: ## the kernels in PyTorch and Hugging Face's GPT-2
	@tools/install.sh pytorch
	@$(MAKE) --no-print-directory -s $(PARALLEL) pytorch-libraries
	@tools/test-pytorch $(ARGS)

# ---- measurements, checks, documents --------------------------------------------------------------------------------

.PHONY: bench check check-cuda check-pages docs generated format clean
bench: ## time every kernel on this machine's GPU; STEP=step3: of that step
	@tools/install.sh gpu
	@$(MAKE) --no-print-directory BACKEND=cuda programs
	@tools/bench $(if $(STEP),$(call step_folder,$(STEP)),$(STEP_FOLDERS))

check: ## is what is generated current, and all of it tidy?
	@tools/install.sh check
	@$(MAKE) --no-print-directory -s $(PARALLEL) programs $(CHECKS)
	@tools/check

check-cuda: ## compile every .cu with nvcc, for each GPU it knows
	@tools/check-cuda '$(NVCC)'

generated: ## rewrite what the documents show between markers, and draw their diagrams
	@tools/install.sh check
	@tools/diagrams.sh --check >/dev/null || tools/install.sh diagrams
	@tools/plots/draw --check >/dev/null || tools/install.sh plots
	@$(MAKE) --no-print-directory -s $(PARALLEL) programs
	@tools/diagrams.sh
	@tools/plots/draw --check >/dev/null || $$(tools/python-with matplotlib) tools/plots/draw
	@tools/generate.sh

docs: ## build the book into build/docs/site
	@tools/install.sh docs
	@tools/docs.sh

check-pages: docs ## look at the book in a browser: contrast, widths, links
	@tools/install.sh pages
	@$(RUN_TESTS) tools/tests/test_check_pages.sh
	@tools/check-pages $(PAGES)

format: ## lay out every C and CUDA file by .clang-format
	@tools/install.sh format
	@git ls-files '*.c' '*.h' '*.cu' '*.cuh' | xargs $$(command -v clang-format-14 || echo clang-format) -i

clean: ## remove build/ (lab/ is yours: it stays)
	rm -rf $(BUILD)

# `make build/tests/test_x` may be typed as it is read.
build/%: $(CURDIR)/build/%
	@:
