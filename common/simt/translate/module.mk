# The translator of the CPU backend: $(BUILD)/simt/translate, called by common/simt/simt-cc.
TRANSLATE_DIR := $(COURSE)/common/simt/translate
TRANSLATE_OUT := $(BUILD)/simt/translate.obj
TRANSLATE_OBJ := $(patsubst $(TRANSLATE_DIR)/%.c,$(TRANSLATE_OUT)/%.o,$(wildcard $(TRANSLATE_DIR)/*.c))
TRANSLATE     := $(BUILD)/simt/translate

# What a rule that runs simt-cc depends on.
SIMT_CC       := $(COURSE)/common/simt/simt-cc
SIMT_CC_NEEDS := $(SIMT_CC) $(TRANSLATE)

$(TRANSLATE): $(TRANSLATE_OBJ)
	$(CC) $(CFLAGS) -o $@ $^

$(TRANSLATE_OUT)/%.o: $(TRANSLATE_DIR)/%.c
	@mkdir -p $(@D)
	$(HOST_C) -c -o $@ $<

-include $(TRANSLATE_OBJ:.o=.d)
