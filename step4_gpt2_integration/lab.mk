# lab.mk — what the programs of this lab are linked with: the rest of the model around a learner's file. Included by
# common/step.mk.
MODEL := $(COURSE)/step4_gpt2_integration/gpt2
include $(MODEL)/lab/lab.mk
