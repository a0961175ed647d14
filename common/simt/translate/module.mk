# The translator of the CPU backend: $(BUILD)/simt/translate, which common/simt/simt-cc calls.
TRANSLATE_DIR := $(COURSE)/common/simt/translate
TRANSLATE_OUT := $(BUILD)/simt/translate.obj
TRANSLATE_OBJ := $(patsubst $(TRANSLATE_DIR)/%.c,$(TRANSLATE_OUT)/%.o,$(wildcard $(TRANSLATE_DIR)/*.c))
TRANSLATE     := $(BUILD)/simt/translate

# Prerequisites of rules that run simt-cc.
SIMT_CC       := $(COURSE)/common/simt/simt-cc
SIMT_CC_NEEDS := $(SIMT_CC) $(TRANSLATE)

# simt-cc also needs the headers that are one line each. They come with the translator, so that rules need only name that.
STUB_HEADERS  := $(COURSE)/common/simt/include/stub_headers
$(BUILD)/simt/include/.made: $(STUB_HEADERS).txt $(STUB_HEADERS).awk
	@rm -rf $(@D) && mkdir -p $(@D)
	awk -v out='$(@D)' -f $(STUB_HEADERS).awk $(STUB_HEADERS).txt
	@touch $@

$(TRANSLATE): $(TRANSLATE_OBJ) | $(BUILD)/simt/include/.made
	$(BUILD_CC) $(CFLAGS) -o $@ $(TRANSLATE_OBJ)

$(TRANSLATE_OUT)/%.o: $(TRANSLATE_DIR)/%.c
	@mkdir -p $(@D)
	$(BUILD_C) -D_GNU_SOURCE -DBUILD_FOLDER='"$(BUILD)"' -c -o $@ $<

-include $(TRANSLATE_OBJ:.o=.d)
