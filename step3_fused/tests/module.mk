# test_dispatch and the programs that it runs: NAME.probe of each solution file, which prints what its launchers choose.
LAB3_TESTS  := $(COURSE)/step3_fused/tests
PROBE_PARTS := $(patsubst $(LAB3_TESTS)/%.cpp,$(PLAIN_BUILD)/host/probe/%.o,$(wildcard $(LAB3_TESTS)/*.cpp))
DISPATCH    := $(BUILD)/host/step3_fused/tests/test_dispatch.o

ifeq ($(SANITIZE),)
TESTS += $(BUILD)/tests/test_dispatch
endif

$(PLAIN_BUILD)/host/probe/%.o: $(LAB3_TESTS)/%.cpp
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(WARNINGS) -O2 -g -I$(COURSE) -I$(COURSE)/common/simt/include -MMD -MP -c -o $@ $<

.PHONY: probes
probes: ladder-programs $(PROBE_PARTS)
	@+$(PLAIN_STEP) SRC=$(COURSE)/step3_fused/solution OUT=$(PLAIN_BUILD)/choices CPUFLAGS=-DSHOW_CHOICE PROBE='$(PROBE_PARTS)' \
	    probes

$(DISPATCH): HOST_C += -D_GNU_SOURCE -DBUILD_FOLDER='"$(PLAIN_BUILD)"'
$(BUILD)/tests/test_dispatch: $(DISPATCH) | probes
	@mkdir -p $(@D)
	$(CC) -o $@ $< -lcriterion

-include $(PROBE_PARTS:.o=.d) $(DISPATCH:.o=.d)
