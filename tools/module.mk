# Tests of the tools: the test runner, the installer, the corpus, the students' folder, the archive that is handed out, and
# the comparisons with PyTorch and Hugging Face.
SHELL_TESTS += $(addprefix tools/tests/,test_run_tests.sh test_install.sh test_corpus.sh test_lab.sh test_handout.sh \
                                       test_handout_builds.sh test_writeups.sh test_quiz.sh test_bug_hunt.sh test_peers.sh \
                                       test_new_exercise.sh test_op_pieces.sh \
                                       test_side_by_side.sh test_graph.sh test_plots.sh \
                                       test_hf_compare.sh test_hf_wirings.sh test_hf_folders.sh test_gpt2_bench.sh \
                                       test_faults_beside_sanitizer.sh test_gradescope.sh test_docs_commands.sh)

# ---- skeletons: the learner's files, made from the solutions ----

SKELETON := $(BUILD)/tools/skeleton
SOLUTION_SOURCES := $(sort $(wildcard step*/solution/*.cu step*/solution/*.cuh step*/solution/*.py))
CHECKS += check-skeletons
TESTS += $(BUILD)/tests/test_skeleton

.PHONY: skeletons check-skeletons
skeletons:
	@tools/install.sh build
	@$(MAKE) --no-print-directory -s $(SKELETON)
	@for solution in $(SOLUTION_SOURCES); do \
	    skeleton=$$(echo $$solution | sed 's|/solution/|/skeleton/|'); \
	    mkdir -p $$(dirname $$skeleton) && $(SKELETON) $$solution $$skeleton || exit 1; \
	done

check-skeletons:
	@tools/install.sh build
	@$(MAKE) --no-print-directory -s $(SKELETON)
	@for solution in $(SOLUTION_SOURCES); do \
	    $(SKELETON) --check $$solution $$(echo $$solution | sed 's|/solution/|/skeleton/|') || exit 1; \
	done
	@for skeleton in $(wildcard step*/skeleton/*); do \
	    [ -f $$(echo $$skeleton | sed 's|/skeleton/|/solution/|') ] || \
	        { echo "$$skeleton: there is no solution that it is made from" >&2; exit 1; }; \
	done
	@echo "ok    every skeleton is what its solution gives"

$(SKELETON): $(BUILD)/tools/skeleton.o $(BUILD)/tools/skeleton_make.o
	@$(HOST_C) -o $@ $^

$(BUILD)/tests/test_skeleton: $(BUILD)/tools/tests/test_skeleton.o $(BUILD)/tools/skeleton_make.o
	@mkdir -p $(@D)
	@$(HOST_C) -o $@ $^ -lcriterion

$(BUILD)/tools/%.o: tools/%.c
	@mkdir -p $(@D)
	@$(HOST_C) -c -o $@ $<

-include $(wildcard $(BUILD)/tools/*.d $(BUILD)/tools/tests/*.d)
