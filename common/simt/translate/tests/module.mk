# Tests of the translator; the ordinary CUDA programs of common/simt/tests/programs/, those with a planted fault in
# common/simt/tests/faults/, and the forms of CUDA in cases/, built and run.
TRANSLATE_TESTS := test_translate test_translate_fuzz
TRANSLATE_RUNS  := test_programs test_simt_cc test_json_report # not under sanitizers: they run the ordinary build
TESTS += $(addprefix $(BUILD)/tests/,$(TRANSLATE_TESTS) $(if $(SANITIZE),,$(TRANSLATE_RUNS)))

$(addprefix $(BUILD)/tests/,$(TRANSLATE_TESTS) $(TRANSLATE_RUNS)): $(BUILD)/tests/%: $(TRANSLATE_OUT)/tests/%.o
	@mkdir -p $(@D)
	$(BUILD_CC) -o $@ $(filter %.o,$^) -lcriterion $(if $(filter %/test_json_report,$@),-lcjson)

$(addprefix $(BUILD)/tests/,$(TRANSLATE_TESTS)): $(filter-out %/main.o,$(TRANSLATE_OBJ))
$(BUILD)/tests/test_simt_cc: $(SIMT_CC_NEEDS)
$(BUILD)/tests/test_json_report: $(SIMT_CC_NEEDS) $(SIMT_LIBRARIES)

# $(1): the program, $(2): its source, $(3): checked or fast
define simt_program
$(BUILD)/tests/test_programs: $(1)
$(1): $(2) $(SIMT_CC_NEEDS) $(BUILD)/simt/libsimt_$(3).a
	@mkdir -p $$(@D)
	BUILD=$(BUILD) CXX='$(CXX)' $(SIMT_CC) $(if $(filter fast,$(3)),--fast) -MMD -MP -I$(COURSE) -o $(1).o $(2)
	$(CXX) -no-pie -o $$@ $(1).o $(BUILD)/simt/libsimt_$(3).a -lbacktrace -lpthread -lm

-include $(1).d
endef
# $(1): the program, $(2): the folder of its sources, $(3): checked or fast. One command compiles and links them.
define simt_folder_program
$(BUILD)/tests/test_programs: $(1)
$(1): $(wildcard $(2)/*) $(SIMT_CC_NEEDS) $(BUILD)/simt/libsimt_$(3).a
	@mkdir -p $$(@D)
	BUILD=$(BUILD) CXX='$(CXX)' $(SIMT_CC) $(if $(filter fast,$(3)),--fast) -o $$@ $(wildcard $(2)/*.cu)
endef
simt_name = $(basename $(notdir $(1)))
PROGRAMS_DIR := $(COURSE)/common/simt/tests/programs
$(foreach source,$(wildcard $(PROGRAMS_DIR)/*.cu),\
    $(eval $(call simt_program,$(BUILD)/simt/programs/$(call simt_name,$(source)),$(source),checked))\
    $(eval $(call simt_program,$(BUILD)/simt/programs/$(call simt_name,$(source))_fast,$(source),fast)))
$(foreach main,$(wildcard $(PROGRAMS_DIR)/*/main.cu),\
    $(eval $(call simt_folder_program,$(BUILD)/simt/programs/$(notdir $(main:/main.cu=)),$(main:/main.cu=),checked))\
    $(eval $(call simt_folder_program,$(BUILD)/simt/programs/$(notdir $(main:/main.cu=))_fast,$(main:/main.cu=),fast)))
$(foreach source,$(wildcard $(COURSE)/common/simt/tests/faults/*.cu),\
    $(eval $(call simt_program,$(BUILD)/simt/faults/$(call simt_name,$(source)),$(source),checked)))
$(foreach source,$(wildcard $(TRANSLATE_DIR)/tests/cases/*.cu),\
    $(eval $(call simt_program,$(BUILD)/simt/cases/$(call simt_name,$(source)),$(source),checked))\
    $(eval $(call simt_program,$(BUILD)/simt/cases/$(call simt_name,$(source))_fast,$(source),fast)))

-include $(wildcard $(TRANSLATE_OUT)/tests/*.d)
