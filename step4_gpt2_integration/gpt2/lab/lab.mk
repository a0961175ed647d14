# lab.mk — how the files of lab 4 are linked; included by common/step.mk, which sets SRC, OUT, NAMES and SHARED.
#
# A file NAME.cu of SRC that has a launcher here (launch_NAME.cu) is linked with that launcher, the rest of the model (gpt2/model,
# built with checks and counters) and the naive kernel set. PARTS_x: the files of SRC that x calls.
PARTS_block := attention decode
PACKAGES    := gpt2

LEARNER_HEADERS += $(addprefix gpt2/model/,attention.cuh bias_backward.cuh block.cuh block_backward.cuh decode.cuh device.cuh matmul.cuh)
LEARNER_READS := $(COURSE)/step4_gpt2_integration/gpt2
# What a lab's file may call: the functions on a device that these headers, and those that they include, declare.
LEARNER_IMPORTS := $(filter-out device_%,$(sort $(shell sed -nE \
    's/^(template <[^>]*> )?int ([a-z_0-9]+)[^ ](const )?gpt2_device &.*/\2/p' \
    $(addprefix $(COURSE)/step4_gpt2_integration/,gpt2/model/attention_backward.cuh \
    $(filter gpt2/model/%,$(LEARNER_HEADERS))))))

GPT2_DIR := $(COURSE)/step4_gpt2_integration/gpt2
COMPILE_CU += -I$(COURSE)/step4_gpt2_integration

LAUNCH_NAMES := $(notdir $(basename $(wildcard $(GPT2_DIR)/lab/*.cu)))
LINKED      := $(filter $(LAUNCH_NAMES:launch_%=%),$(NAMES))
parts_of     = $(1) $(filter $(patsubst $(SRC)/%.cu,%,$(wildcard $(SRC)/*.cu)),$(PARTS_$(1)))
programs_with = $(foreach name,$(LINKED),$(if $(filter $(1),$(call parts_of,$(name))),$(OUT)/$(name)))
NAMED_PARTS := $(sort $(foreach name,$(LINKED),$(call parts_of,$(name))))
MODEL_OUT   := $(SHARED)/model
# No mark uses what belongs to the whole model: its choice of a form, its training.
WHOLE_MODEL := model training forms activation decode_persistent %_fused_backward %_warpgroup_backward
MODEL_NAMES := $(filter-out $(WHOLE_MODEL),$(notdir $(basename $(wildcard $(GPT2_DIR)/model/*.cu))))
NAIVE_NAMES := $(notdir $(basename $(wildcard $(GPT2_DIR)/kernels/naive/*.cu)))
MODEL_HOST  := error tensors config codes

$(MODEL_NAMES:%=$(MODEL_OUT)/%.o): $(MODEL_OUT)/%.o: $(GPT2_DIR)/model/%.cu $(CU_NEEDS)
	@mkdir -p $(@D)
	@$(COMPILE_CU) $(if $(filter cpu,$(BACKEND)),--around)

$(NAIVE_NAMES:%=$(MODEL_OUT)/naive/%.o): $(MODEL_OUT)/naive/%.o: $(GPT2_DIR)/kernels/naive/%.cu $(CU_NEEDS)
	@mkdir -p $(@D)
	@$(COMPILE_CU) $(if $(filter cpu,$(BACKEND)),--around)

$(LAUNCH_NAMES:%=$(MODEL_OUT)/%.o): $(MODEL_OUT)/%.o: $(GPT2_DIR)/lab/%.cu $(CU_NEEDS)
	@mkdir -p $(@D)
	@$(COMPILE_CU) $(if $(filter cpu,$(BACKEND)),--around)

$(MODEL_OUT)/host/%.o: $(GPT2_DIR)/%.c
	@mkdir -p $(@D)
	$(HOST_C) $(OPS_FLAGS) -I$(COURSE)/step4_gpt2_integration $(CUDA_INCLUDE) -c -o $@ $<
$(MODEL_OUT)/host/%.o: $(GPT2_DIR)/formats/%.c
	@mkdir -p $(@D)
	$(HOST_C) $(OPS_FLAGS) -I$(COURSE)/step4_gpt2_integration $(CUDA_INCLUDE) -c -o $@ $<
$(MODEL_OUT)/host/table.o: $(GPT2_DIR)/kernels/table.c
	@mkdir -p $(@D)
	$(HOST_C) $(OPS_FLAGS) -I$(COURSE)/step4_gpt2_integration $(CUDA_INCLUDE) -DKERNEL_SET='"naive"' -c -o $@ $<

$(MODEL_OUT)/libmodel.a: $(MODEL_NAMES:%=$(MODEL_OUT)/%.o) $(MODEL_HOST:%=$(MODEL_OUT)/host/%.o)
	@rm -f $@.part
	$(AR) rcs $@.part $^
	@mv $@.part $@

MODEL_OBJECTS := $(NAIVE_NAMES:%=$(MODEL_OUT)/naive/%.o) $(MODEL_OUT)/host/table.o
define linked_program
$(OUT)/$(1) $(OUT)/$(1).exercise $(OUT)/$(1).records: LINK_LIBS := $(MODEL_LIBS)
$(OUT)/$(1) $(OUT)/$(1).exercise $(OUT)/$(1).records: $(patsubst %,$(OUT)/obj/%.o,$(filter-out $(1),$(call parts_of,$(1)))) \
    $(MODEL_OUT)/launch_$(1).o $(MODEL_OBJECTS) $(MODEL_OUT)/libmodel.a $(MODEL_ARCHIVES)
LAB_SHARED += $(MODEL_OUT)/launch_$(1).o
endef
$(foreach name,$(LINKED),$(eval $(call linked_program,$(name))))
LAB_SHARED += $(if $(LINKED),$(MODEL_OBJECTS) $(MODEL_OUT)/libmodel.a $(MODEL_ARCHIVES) $(MODEL_OUT)/launch_model.o)
$(filter $(OUT)/block,$(LINKED:%=$(OUT)/%)): $(MODEL_OUT)/launch_model.o
$(filter $(OUT)/block.exercise $(OUT)/block.records,$(LINKED:%=$(OUT)/%.exercise) $(LINKED:%=$(OUT)/%.records)): $(MODEL_OUT)/launch_model.o

# The whole model around the learner's files: ./gpt2. A failure is no error, because the grader marks without it.
program:
	+@$(if $(wildcard gpt2),,$(COURSE)/tools/progress) $(MAKE) --no-print-directory -C $(COURSE) BACKEND=$(BACKEND) gpt2-lab && \
	    ln -sfn $(COURSE)/build/gpt2/$(BACKEND)/gpt2-lab gpt2 && \
	    echo 'Built ./gpt2 around your files; --kernels lab gives it your kernels of lab 3.' || \
	    echo 'Not built: ./gpt2 (see the error above; ./grader marks without it).'

-include $(wildcard $(MODEL_OUT)/*.d $(MODEL_OUT)/*/*.d)
