# peers.mk — the shared libraries that tools/peers/bench.py loads: build/peers/STEP.so from the lab's solution, and
# build/peers/yardsticks.so.
#
#   make -f tools/peers/peers.mk STEP=step3_fused
COURSE := .
.DEFAULT_GOAL := libraries
include $(COURSE)/common/config.mk

CUDA_ARCH ?= $(if $(wildcard /dev/nvidia0),native,all-major)
OUT       := $(BUILD)/peers
OBJECTS   := $(patsubst $(STEP)/solution/%.cu,$(OUT)/$(STEP)/%.o,$(wildcard $(STEP)/solution/*.cu))
COMPILE   := $(NVCC) -std=c++17 -O3 -arch=$(CUDA_ARCH) -cudart shared -I$(COURSE) -I$(COURSE)/common -Xcompiler -fPIC,-Wall

.PHONY: libraries
libraries: $(OUT)/$(STEP).so $(OUT)/yardsticks.so

$(OUT)/$(STEP)/%.o: $(STEP)/solution/%.cu
	@mkdir -p $(@D)
	$(COMPILE) -MD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $<

$(OUT)/yardsticks.o: tools/peers/yardsticks.cu
$(OUT)/triangle.o: tools/peers/triangle.cu
$(OUT)/copy.o: common/runner/copy.cu
$(OUT)/yardsticks.o $(OUT)/triangle.o $(OUT)/copy.o:
	@mkdir -p $(@D)
	$(COMPILE) -MD -MP -MF $(@:.o=.d) -MT $@ -c -o $@ $<

$(OUT)/$(STEP).so: $(OBJECTS)
	$(NVCC) -shared -cudart shared -arch=$(CUDA_ARCH) -o $@ $^

$(OUT)/yardsticks.so: $(OUT)/yardsticks.o $(OUT)/triangle.o $(OUT)/copy.o
	$(NVCC) -shared -cudart shared -arch=$(CUDA_ARCH) -o $@ $^

-include $(OBJECTS:.o=.d) $(OUT)/yardsticks.d $(OUT)/triangle.d $(OUT)/copy.d
