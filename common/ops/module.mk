# common/ops/module.mk — the ops, found by folder: an op is a folder NAME with an op.c. Generated from them:
#   $(BUILD)/ops/ops/index.h      OP(NAME) for each op, in alphabetical order
#   $(BUILD)/ops/ops/launchers.h  each contract included, then LAUNCHER(NAME, TYPE) for each launcher that it declares
#   $(BUILD)/ops/common/contracts/NAME.h for labs that were made when contracts had a folder of their own
# Include this file to compile common/ops or to include a contract, with -I$(OPS_INCLUDE) -I$(COURSE)/common.

OP_NAMES    := $(sort $(notdir $(patsubst %/,%,$(dir $(wildcard $(COURSE)/common/ops/*/op.c)))))
OPS_INCLUDE := $(BUILD)/ops
OPS_INDEX   := $(OPS_INCLUDE)/ops/index.h $(OPS_INCLUDE)/ops/launchers.h
OPS_FLAGS   := -I$(COURSE)/common -I$(OPS_INCLUDE) -I$(OPS_INCLUDE)/common

# OPS_DESCRIBED: the descriptions, with which the runner is linked. OPS_SOURCES: everything, for programs that judge.
OPS_DESCRIBED := common/ops/ops.c $(OP_NAMES:%=common/ops/%/op.c)
OPS_SOURCES   := $(patsubst $(COURSE)/%,%,$(wildcard $(COURSE)/common/ops/*.c $(COURSE)/common/ops/*/*.c))

# The float64 transformer without ops: calls.h has what ops add to it.
OPS_TRANSFORMER := $(addprefix common/ops/transformer/,attention.c backward.c block.c)

OPS_CONTRACTS := $(wildcard $(COURSE)/common/ops/*/contract.h)
$(OPS_INDEX) &: $(COURSE)/common/ops/index.sh $(OPS_CONTRACTS) $(wildcard $(COURSE)/common/ops/*/op.c)
	@$(COURSE)/common/ops/index.sh $(COURSE)/common/ops $(OPS_INCLUDE)
