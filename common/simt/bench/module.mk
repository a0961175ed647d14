# The backend's own speed: make bench-simt.
SIMT_BENCH     := $(SIMT)/bench
SIMT_BENCH_OUT := $(BUILD)/simt/bench

$(SIMT_BENCH_OUT)/checked.o $(SIMT_BENCH_OUT)/fast.o: $(SIMT_BENCH)/bench.cu $(SIMT_BENCH)/kernels.cuh $(SIMT_CC_NEEDS) \
    $(SIMT_HEADERS)
	@mkdir -p $(@D)
	BUILD=$(BUILD) CXX=$(CXX) $(SIMT_CC) $(if $(filter %fast.o,$@),--fast) -I$(COURSE) -o $@ $<

$(SIMT_BENCH_OUT)/bench_%: $(SIMT_BENCH_OUT)/%.o $(BUILD)/simt/libsimt_%.a
	$(CXX) -no-pie -o $@ $^ -lbacktrace -lpthread -lm

.PHONY: bench-simt
bench-simt: $(SIMT_BENCH_OUT)/bench_checked $(SIMT_BENCH_OUT)/bench_fast
	@$(SIMT_BENCH_OUT)/bench_checked >$(SIMT_BENCH_OUT)/checked.txt
	@$(SIMT_BENCH_OUT)/bench_fast >$(SIMT_BENCH_OUT)/fast.txt
	@awk -f $(SIMT_BENCH)/table.awk $(SIMT_BENCH_OUT)/checked.txt $(SIMT_BENCH_OUT)/fast.txt
