# Tests of the backend's cuBLAS, with the checked library.
$(BUILD)/simt/cublas/tests/%.o: $(SIMT)/cublas/tests/%.c
	@mkdir -p $(@D)
	$(HOST_C) $(SIMT_CFLAGS) $(SIMT_TEST_FLAGS) -c $< -o $@

SIMT_CUBLAS_TESTS := test_cublas test_cublas_lt
$(SIMT_CUBLAS_TESTS:%=$(BUILD)/tests/%): $(BUILD)/tests/%: $(BUILD)/simt/cublas/tests/%.o $(SIMT_CUBLAS_CHECKED) \
    $(BUILD)/simt/libsimt_checked.a $(filter %.o,$(CRITERION))
	@mkdir -p $(@D)
	$(CXX) -no-pie -o $@ $(filter-out $(CRITERION),$^) $(CRITERION) -lbacktrace -lopenblas -lpthread -lm

TESTS += $(SIMT_CUBLAS_TESTS:%=$(BUILD)/tests/%)
SIMT_TEST_NAMES += $(SIMT_CUBLAS_TESTS)

-include $(wildcard $(BUILD)/simt/cublas/tests/*.d)
